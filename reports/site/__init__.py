"""The site: what the project knows, as pages that can be read without a network."""
