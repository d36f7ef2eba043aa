"""The commands of `pulsar-conformance`."""
