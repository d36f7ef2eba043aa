"""Derivations and failures as a person reads them."""
