"""Commands that watch running clusters over their admin API."""
