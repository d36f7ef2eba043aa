"""Pages and tables for people, made from the verdict stream and the specifications."""
