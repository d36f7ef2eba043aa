"""The page of an audit: one HTML file that works offline."""
