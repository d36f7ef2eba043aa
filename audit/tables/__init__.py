"""Gold tables: the knowledge, decisions and unloads at each shedding cycle."""
