"""The outputs of a run: the terminal, the verdict stream, Allure results, a progress line."""
