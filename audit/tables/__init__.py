"""The gold tables: knowledge, decisions and unloads at each shedding cycle."""
