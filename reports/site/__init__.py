"""The site: results of the project as pages that work offline."""
