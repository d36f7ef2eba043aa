"""Benchmarks. Results are ratios between measurements of one run."""
