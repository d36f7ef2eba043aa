"""A cluster as a state machine over events. [OWN]"""
