"""A cluster as a machine over events: who owns what, from one step to the next. [OWN]"""

from pulsar_conformance.reference.story.replay import Replay, replay

__all__ = ["Replay", "replay"]
