"""Gold tables: what the leader knew, decided and unloaded in each shedding cycle."""
