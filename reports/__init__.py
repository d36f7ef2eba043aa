"""Pages and tables, generated from the verdict stream and the specifications."""
