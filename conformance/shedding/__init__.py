"""Shedding: which bundles an overloaded broker sheds."""
