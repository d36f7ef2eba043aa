"""Operations about a whole cluster: its settings, its load manager, its behavior over time."""
