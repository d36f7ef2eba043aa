"""`python -m pulsar_conformance.conformance`: the command, if its script is not on PATH."""

from pulsar_conformance.conformance.commands.entry import entry

if __name__ == "__main__":
    entry()
