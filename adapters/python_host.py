"""Hosts a Python object: `python -m pulsar_conformance.adapters.python_host MODULE:NAME`.

The object is an instance, or a class or function that returns an instance when called with
(profile, readings). The instance has `hello(profile, readings) -> dict` and `answer(operation,
case) -> dict`, both as in the protocol. Anything that the instance prints goes to standard error.
An exception in `answer` fails only that case, unless it is `CannotLoad` or `AdapterFailure`.
"""

import importlib
import io
import json
import os
import sys
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from pulsar_conformance.adapters.errors import AdapterFailure, CannotLoad
from pulsar_conformance.adapters.protocol import JSON, PROTOCOL, json_line, json_text


class Host:
    """Host of one object, which is created when the `hello` message gives profile and readings."""

    def __init__(self, spec: str) -> None:
        self._spec = spec
        self._object: JSON = None
        self._operations: tuple[str, ...] = ()

    def reply(self, message: Mapping[str, JSON]) -> bytes:
        """Return the reply to a `hello` or `ask` message, as one line of JSON."""
        number = message.get("id")
        try:
            if message["ask"] == "hello":
                answer = self._greet(message["profile"], message["readings"])
                return json_line({"id": number, "answer": answer})
            if message["ask"] not in self._operations:
                return _error(number, "unknown-operation", f"{message['ask']} is not offered")
            texts = self._answers(message["ask"], message["cases"])
            return f'{{"id":{number},"answers":[{",".join(texts)}]}}\n'.encode()
        except CannotLoad as error:
            return _error(number, "import", str(error))
        except AdapterFailure as error:
            traceback.print_exc()
            return _error(number, "adapter", str(error))
        except Exception as error:
            traceback.print_exc()
            return _error(number, "internal", f"{type(error).__name__}: {error}")

    def _greet(self, profile: str, readings: Mapping[str, str]) -> dict[str, JSON]:
        found = load_object(self._spec)
        ready = hasattr(found, "answer") and not isinstance(found, type)
        self._object = found if ready else found(profile, readings)
        answer: dict[str, JSON] = {"protocol": PROTOCOL, **self._object.hello(profile, readings)}
        self._operations = tuple(answer.get("operations", ()))
        return answer

    def _answers(self, operation: str, cases: list[JSON]) -> list[str]:
        texts = []
        shown = False
        for case in cases:
            try:
                texts.append(json_text(self._object.answer(operation, case)))
            except (AdapterFailure, CannotLoad):
                raise
            except Exception as error:
                texts.append(json_text({"failed": f"{type(error).__name__}: {error}"}))
                # Thousands of cases may fail for one reason: print one traceback per batch.
                if not shown:
                    traceback.print_exc()
                shown = True
        return texts


def load_object(spec: str) -> JSON:
    """Return the object named `package.module:name`. Errors: `CannotLoad` if a part is missing."""
    module_name, _, path = spec.partition(":")
    try:
        found: JSON = importlib.import_module(module_name)
    except Exception as error:
        if not (isinstance(error, ModuleNotFoundError) and error.name == module_name):
            traceback.print_exc()
        text = f"can't import {module_name}: {type(error).__name__}: {error}"
        raise CannotLoad(f"{text}; the search starts in {Path.cwd()}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            near = get_close_matches(name, dir(found), n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise CannotLoad(f"{module_name} has no {path}{meant}")
        found = getattr(found, name)
    return found


def _error(number: JSON, code: str, text: str) -> bytes:
    return json_line({"id": number, "error": {"code": code, "message": text}})


def take_over_pipes() -> tuple[BinaryIO, io.FileIO]:
    """Return the pipes of the protocol; from now on, the object prints to standard error."""
    messages = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout.flush()
    os.dup2(2, 1)
    return messages, replies


def write_whole(replies: io.FileIO, line: bytes) -> None:
    """Write a complete line, even if the pipe accepts only parts of it at a time."""
    rest = memoryview(line)
    while rest:
        rest = rest[replies.write(rest) :]


def main(spec: str) -> int:
    """Answer questions until the suite says bye or the input ends."""
    messages, replies = take_over_pipes()
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    host = Host(spec)
    for line in messages:
        # Lines come from the suite itself, so that strict parsing is unnecessary.
        message = json.loads(line)
        if message.get("ask") == "bye":
            break
        write_whole(replies, host.reply(message))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
