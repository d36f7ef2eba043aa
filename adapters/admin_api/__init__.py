"""A client of Pulsar's admin API."""
