"""The site: the project's results as pages that work offline."""
