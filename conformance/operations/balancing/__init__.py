"""Operations in which a balancer decides what is shed, and where bundles go."""
