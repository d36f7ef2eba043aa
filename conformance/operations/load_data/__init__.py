"""Operations about what brokers report, and what is computed from it."""
