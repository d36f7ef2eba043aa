"""A cluster as a state machine driven by events. [OWN]"""
