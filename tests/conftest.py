"""What several test modules use."""

import json

import pytest
from pulsar_conformance.conformance.cli import main


@pytest.fixture
def explain(tmp_path, capsys):
    """Explains questions out of a file; the exit status and what was said."""

    def explained(content, *options):
        file = tmp_path / "case.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        status = main(["explain", str(file), *options])
        said = capsys.readouterr()
        return status, said.out, said.err

    return explained
