"""What people look at, made from the verdict stream and the specifications."""
