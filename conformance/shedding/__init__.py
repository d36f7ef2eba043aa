"""Shedding: which bundles an overloaded broker gives up."""
