"""Downloads of jars with the Maven that is installed on this machine."""

from __future__ import annotations

import re
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pulsar_conformance.specs.errors import UserError, print_note
from pulsar_conformance.specs.text import counted

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
PULSAR = "org.apache.pulsar"
PROGRESS_SECONDS = 5.0
"""Seconds between two messages about progress."""

MAX_SECONDS = 15 * 60.0
"""Time limit of a Maven run in seconds; even slow downloads need less."""

CHUNK = 1 << 16

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
<dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>
<dependencies>{wanted}</dependencies>
</project>
"""


class CannotFetch(UserError):
    """Raised if Maven did not download the jars; the message gives the reason and what to do.

    Attributes:
        missing: the artifact that no reachable repository has, as group:name:..., or empty.
    """

    def __init__(self, problem: str, hint: str, tail: str = "", missing: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.tail = tail
        self.missing = missing


def pulsar_pom(version: str, pins: Sequence[str]) -> str:
    """Return a POM for a release's broker, with the dependency versions that the release gives.

    The parent POM of the release is imported as a BOM; otherwise, Maven 3.8 does not finish. `pins`
    replace some of the versions.
    """
    bom = _dependency(f"{PULSAR}:pulsar:{version}", "<type>pom</type><scope>import</scope>")
    pinned = "".join(map(_dependency, pins))
    return POM.format(managed=pinned + bom, wanted=_dependency(f"{PULSAR}:pulsar-broker:{version}"))


def plain_pom(artefacts: Sequence[str]) -> str:
    """Return a POM for artifacts, each given as group:name:version."""
    return POM.format(managed="", wanted="".join(map(_dependency, artefacts)))


def _dependency(artefact: str, more: str = "") -> str:
    group, name, version = artefact.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version>{more}</dependency>"
    )


def release_title(version: str) -> str:
    """Return the name of a release in messages, such as `Pulsar 3.0.7`."""
    return f"Pulsar {version}"


def fetch_release(version: str, pins: Sequence[str], near: str, library: Path) -> None:
    """Download a release's jars to a folder. Errors: `CannotFetch`.

    Parts in `REPLACEABLE` that are missing are downloaded in the version of the release `near`.
    """
    taken = list(pins)
    while True:
        try:
            pom = pulsar_pom(version, taken)
            return fetch_artifacts(release_title(version), pom, library)
        except CannotFetch as error:
            group, name, *_ = *error.missing.split(":"), ""
            pin = f"{PULSAR}:{name}:{near}"
            if group != PULSAR or not name.startswith(REPLACEABLE) or pin in taken:
                raise
            taken.append(pin)


def replaced_parts(version: str, library: Path) -> list[str]:
    """Return the names and versions of parts in a release's folder that are from other releases."""
    part = re.compile(rf"{re.escape(PULSAR)}\.(({'|'.join(REPLACEABLE)})[a-z-]*?)-(\d.*)\.jar")
    found = (part.fullmatch(jar.name) for jar in sorted(library.glob(f"{PULSAR}.*.jar")))
    return [f"{one[1]} {one[3]}" for one in found if one and not one[3].startswith(version)]


REPLACEABLE = (
    "jetcd-core-shaded",
    "managed-ledger",
    "pulsar-docs-tools",
    "pulsar-functions",
    "pulsar-io",
    "pulsar-opentelemetry",
    "pulsar-package",
    "pulsar-transaction",
    "pulsar-websocket",
)
"""Prefixes of a broker's artifacts without influence on load balancing."""


def fetch_artifacts(title: str, pom: str, library: Path) -> None:
    """Download the artifacts of a POM to a folder; report progress on standard error.

    Errors: `CannotFetch`.
    """
    program = shutil.which("mvn")
    if program is None:
        raise CannotFetch(
            f"{title} must be downloaded, but there is no mvn on PATH",
            "install Maven 3.8 or newer; it is needed only the first time",
        )
    with tempfile.TemporaryDirectory(prefix="pulsar-conformance-") as folder:
        file = Path(folder, "pom.xml")
        file.write_text(pom, "utf-8")
        words = [program, "-B", "-f", str(file), f"{PLUGIN}:copy-dependencies"]
        words += ["-DincludeScope=runtime", "-Dmdep.prependGroupId=true"]
        words += [f"-DoutputDirectory={library}"]
        said = _run(title, words)
    if not any(library.glob("*.jar")):
        raise CannotFetch(
            f"Maven downloaded no jar of {title}", "run the command again", _last_lines(said)
        )


def _run(title: str, words: Sequence[str]) -> list[str]:
    """Run Maven and return its output. Errors: `CannotFetch`."""
    _report_progress(f"{title}: fetching with Maven, some 200 MB the first time")
    begun = time.monotonic()
    said: list[str] = []
    process = subprocess.Popen(
        words,
        bufsize=0,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        try:
            said = _output_within(MAX_SECONDS, process, title)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise _interpret_failure(title, said)
    _report_progress(f"{title}: fetched in {time.monotonic() - begun:.0f} s")
    return said


def _output_within(seconds: float, process: subprocess.Popen[bytes], title: str) -> list[str]:
    """Return the lines of Maven's output; report progress even while Maven prints nothing.

    Errors: `CannotFetch` if the output does not end in time.
    """
    assert process.stdout is not None
    begun = shown = time.monotonic()
    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (now := time.monotonic()) - begun < seconds:
            if now - shown > PROGRESS_SECONDS:
                shown = now
                fetched = counted(output.count(b"Downloaded from"), "file")
                _report_progress(f"{title}: {fetched} fetched, {now - begun:.0f} s")
            if not selector.select(min(PROGRESS_SECONDS, begun + seconds - now)):
                continue
            chunk = process.stdout.read(CHUNK)
            if not chunk:
                return output.decode(errors="replace").splitlines()
            output += chunk
    raise CannotFetch(
        f"Maven did not finish fetching {title} within {seconds / 60:g} minutes, so it was stopped",
        "check the connection to the repository, or name a mirror in ~/.m2/settings.xml, and run "
        "the command again; files that were fetched completely are kept",
        _last_lines(output.decode(errors="replace").splitlines()[-1:]),
    )


def _report_progress(text: str) -> None:
    print_note(text)


ARTIFACT = r"([\w.-]+:[\w.-]+:[\w.:-]+)"
ABSENT = re.compile(rf"Could not find artifact {ARTIFACT}|{ARTIFACT} was not found in")
UNREACHED = re.compile(rf"Could not transfer artifact {ARTIFACT} from/to (\S+ \(\S+\))")
NETWORK = re.compile(
    r"Unknown host|UnknownHost|timed out|Connection refused|Network is unreachable|"
    r"No route to host|Could not transfer|offline mode",
    re.IGNORECASE,
)


def _interpret_failure(title: str, said: Sequence[str]) -> CannotFetch:
    """Return an error with an explanation of Maven's messages."""
    text = "\n".join(line for line in said if "ERROR" in line or "FATAL" in line)
    tail = _last_lines(said)
    unreached, absent = UNREACHED.search(text), ABSENT.search(text)
    if unreached:
        return CannotFetch(
            f"{title} needs {unreached[1]} from {unreached[2]}, which cannot be reached",
            "name a mirror of that repository in ~/.m2/settings.xml, or write pulsar:PATH with "
            "the lib folder of a distribution, which has every jar",
            tail,
            unreached[1],
        )
    if NETWORK.search(text):
        return CannotFetch(
            f"{title} must be downloaded, but Maven cannot reach a repository",
            "connect to the network, or name a mirror in ~/.m2/settings.xml; "
            "later runs need no network",
            tail,
        )
    if absent:
        return CannotFetch(
            f"{title} needs {absent[1] or absent[2]}, which Maven's repositories do not have",
            "name a version that was released, or write pulsar:PATH with the lib folder of a "
            "distribution or build",
            tail,
            absent[1] or absent[2],
        )
    return CannotFetch(f"Maven could not fetch {title}", "its output follows", tail)


def _last_lines(said: Sequence[str]) -> str:
    errors = [line for line in said if line.startswith("[ERROR]") and len(line) > len("[ERROR] ")]
    return "\n".join(line[:200] for line in (errors or list(said))[:4])
