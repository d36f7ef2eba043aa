"""Load managers: which one runs, and how brokers agree on bundle states."""
