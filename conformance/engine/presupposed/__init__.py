"""What the rules that a rule builds on are asked about one of its cases."""
