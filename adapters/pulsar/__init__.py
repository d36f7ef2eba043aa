"""Released Pulsar as an implementation: its own classes, in a separate JVM.

`connect` finds or downloads the jars and starts a child process, in which everything else runs.
`operations` has a module for each operation that a release can answer.
"""
