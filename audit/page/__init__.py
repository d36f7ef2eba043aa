"""The page of an audit: one HTML file that needs no network."""
