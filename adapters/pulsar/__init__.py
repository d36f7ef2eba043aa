"""Answers of released Pulsar, whose own classes run in a separate JVM.

`connect` finds or downloads the jars and starts a child process, in which everything else runs.
`operations` has a module for each group of operations that a release can answer.
"""
