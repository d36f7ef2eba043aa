"""Bundles: how topics fall into them, and how they are created and split."""
