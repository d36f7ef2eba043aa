"""The vocabulary of judging: questions, trials, checks, and what a check says."""
