"""Operations about namespaces and their bundles."""
