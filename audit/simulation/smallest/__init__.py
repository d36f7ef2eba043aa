"""The smallest cluster in which a rule about the long run is violated."""
