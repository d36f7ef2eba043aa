"""Cases for the branches of released code, drawn by a generator that does not know the model."""
