"""What was known, decided and done at each shedding cycle, as tables."""
