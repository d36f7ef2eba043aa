"""A cluster as a machine over events: who owns what, from one step to the next. [OWN]"""

from pulsar_conformance.reference.story.replay import Told, replay

__all__ = ["Told", "replay"]
