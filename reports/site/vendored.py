"""Download of the npm packages that the site contains; none of them is committed.

Pyodide is Python in WebAssembly, for the playground. iframe-worker makes search work without a
server. Source Sans is the typeface. All packages are unpacked unchanged, and never run here.
"""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

import yaml
from pulsar_conformance import reference, specs
from pulsar_conformance.audit import simulation
from pulsar_conformance.fixtures import examples, profiles_judging
from pulsar_conformance.specs.errors import UserError

PACKAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "@fontsource-variable/source-sans-3": (
        "5.3.1",
        ("files/source-sans-3-latin-wght-normal.woff2", "LICENSE"),
    ),
    "iframe-worker": ("1.0.4", ("shim/index.js", "LICENSE")),
    "pyodide": (
        "314.0.7",
        (
            "pyodide.mjs",
            "pyodide.asm.mjs",
            "pyodide.asm.wasm",
            "python_stdlib.zip",
            "pyodide-lock.json",
            "package.json",
        ),
    ),
}
"""Version of each npm package, and its files that the site needs."""
MODEL = "model.zip"
EXAMPLES = "playground.json"
PARTS: Mapping[ModuleType, tuple[str, ...]] = {
    specs: ("classes.yaml",),
    reference: (),
    simulation: ("worlds.yaml",),
}
"""Packages of this project that the playground needs, each with the data that it reads."""
ABSENT = frozenset({"fingerprint", "overloads", "page", "search", "starts", "variants"})
"""Modules that the playground leaves out, because only commands need them."""
YAML = "import json\n\nsafe_load = json.loads\nSafeLoader = Node = MappingNode = object\n"
"""Source of a module that replaces the YAML parser, since data files for the browser are JSON."""


class CannotVendor(UserError):
    """Raised if a file of another project is not available; the message gives the reason."""


def fetch_packages(cache: Path, to: Path) -> None:
    """Write the files of packages to `to`; keep downloads in `cache`. Errors: `CannotVendor`."""
    for name, (version, files) in PACKAGES.items():
        archive = cache / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
        if not archive.exists():
            _pack(f"{name}@{version}", cache)
        with tarfile.open(archive) as packed:
            for file in files:
                held = packed.extractfile(f"package/{file}")
                if held is None:
                    raise CannotVendor(f"{archive}: there is no {file} in it; remove the archive")
                target = to / PurePosixPath(name).name / file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(held.read())


def _pack(package: str, cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotVendor(f"npm is not on PATH; the site needs it to fetch {package}")
    cache.mkdir(parents=True, exist_ok=True)
    words = [npm, "pack", package, "--ignore-scripts", "--loglevel=error"]
    done = subprocess.run(words, cwd=cache, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotVendor(f"npm could not fetch {package}: {done.stderr.strip()[:200]}")


def write_model(to: Path) -> None:
    """Write the model, simulations, rules and worked examples in a form for browsers.

    A browser would take ten seconds to parse YAML, so the rules are a pickle, and all other data
    are JSON.
    """
    to.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(to / MODEL, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _modules():
            archive.writestr(name, content)
        archive.writestr("specs.pickle", pickle.dumps(specs.load()))
        archive.writestr("yaml.py", YAML)
    (to / EXAMPLES).write_text(json.dumps(list(_examples()), ensure_ascii=False), "utf-8")


def _modules() -> Iterator[tuple[str, bytes | str]]:
    for package, data in PARTS.items():
        folder = Path(package.__file__ or "").parent
        name = PurePosixPath(*package.__name__.split("."))
        for file in sorted(folder.rglob("*.py")):
            if file.stem not in ABSENT:
                yield str(name / file.relative_to(folder).as_posix()), file.read_bytes()
        for sheet in data:
            text = (folder / sheet).read_text("utf-8")
            yield str(name / sheet), json.dumps(yaml.safe_load(text))
    for shape in ("shapes", *(f"operations/{name}" for name in specs.operations())):
        yield f"pulsar_conformance/specs/schema/{shape}.json", json.dumps(specs.schema(shape))
    yield "pulsar_conformance/audit/__init__.py", ""


def _examples() -> Iterator[Mapping[str, Any]]:
    for example in examples():
        operation, case = example.questions[0]
        yield {
            "id": example.id,
            "title": example.title,
            "profile": profiles_judging(example)[0],
            "readings": dict(example.readings),
            "ask": operation,
            "case": case,
        }
