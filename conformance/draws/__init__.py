"""What Hypothesis draws: cases that aim at a rule, near its thresholds and far from them."""
