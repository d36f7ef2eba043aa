"""Released Pulsar as an implementation: its own classes, in a JVM of their own.

`connect` finds or fetches the jars and starts a child process; everything else runs in that
child. `operations` has a module for each question that can be put to a release.
"""
