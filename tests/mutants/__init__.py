"""How well the suite sees: the model with one thing changed, judged as an implementation."""
