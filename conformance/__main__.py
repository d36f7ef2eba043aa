"""`python -m pulsar_conformance.conformance`: the command, if its script is not on the path."""

import sys

from pulsar_conformance.conformance.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
