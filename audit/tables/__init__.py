"""Gold tables: what was known, decided and unloaded in each shedding cycle."""
