"""Text output: derivations of answers, and descriptions of failures."""
