"""Planted rule violations and damaged lines, which audits should detect."""
