"""`python -m pulsar_conformance.conformance`: the same command, if its script is not in PATH."""

from pulsar_conformance.conformance.commands.entry import entry

if __name__ == "__main__":
    entry()
