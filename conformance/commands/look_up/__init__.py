"""What the suite knows, looked up: rules, profiles, readings, settings and schemas."""
