"""Options in an adapter's name: `KIND:TARGET,KEY=VALUE,...`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches


def parse_options(
    parts: Iterable[str],
    keys: Sequence[str],
    form: str,
    make_error: Callable[[str], Exception],
    place: str = "here",
) -> Iterator[tuple[str, str]]:
    """Yield the key and value of each option.

    Errors: the exception that `make_error` returns; its message includes `form`, the right format.
    """
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in keys or not equals or not value:
            near = get_close_matches(key, keys, n=1)
            meant = f"; did you mean {near[0]}=?" if near and near[0] != key else ""
            raise make_error(f"{part!r} is not an option {place}{meant}; write {form}")
        yield key, value
