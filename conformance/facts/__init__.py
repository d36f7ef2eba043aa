"""Facts about cases that several checks share: what is certain despite floating point."""
