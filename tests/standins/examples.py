"""The example cases of each operation, by its name."""

from pulsar_conformance.conformance.catalogue import OPERATIONS

EXAMPLES = {name: operation.examples for name, operation in OPERATIONS.items()}
