"""Rules that apply to every answer."""
