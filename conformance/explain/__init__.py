"""Text output: derivations of answers, explanations of logs, and comparisons of decisions."""
