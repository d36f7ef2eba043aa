"""A cluster as a state machine over events. [OWN]"""

from pulsar_conformance.reference.story.replay import Replay, replay

__all__ = ["Replay", "replay"]
