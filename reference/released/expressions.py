"""Java's regular expressions (`java.util.regex.Pattern`), translated for Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

BLANKS = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
PUNCTUATION = r"!-/:-@\[-`{-~"

CLASSES = {
    "h": BLANKS,
    "v": r"\n\x0b\f\r\x85\u2028\u2029",
    "p{Lower}": "a-z",
    "p{Upper}": "A-Z",
    "p{ASCII}": r"\x00-\x7f",
    "p{Alpha}": "a-zA-Z",
    "p{Digit}": "0-9",
    "p{Alnum}": "a-zA-Z0-9",
    "p{Punct}": PUNCTUATION,
    "p{Graph}": r"!-~",
    "p{Print}": r" -~",
    "p{Blank}": r" \t",
    "p{Cntrl}": r"\x00-\x1f\x7f",
    "p{XDigit}": "0-9a-fA-F",
    "p{Space}": r" \t\n\x0b\f\r",
}
"""Characters of the predefined classes that Python lacks, by Java's escape without its
backslash.
"""

SHARED = frozenset("dDwWsSntrfa")
"""Escapes with the same meaning in Java and Python, also inside a character class."""

ELSEWHERE = {"b": r"\b", "B": r"\B", "A": r"\A", "z": r"\Z", "Z": r"\Z"}
r"""Java's escapes outside a character class, each with Python's equivalent.

`Z` may become `\Z`, since no name ends with a line break.
"""

FOREIGN = frozenset("cGkNRuxXpPHV")
"""Java's escapes that Python lacks; only escapes in `CLASSES` and escapes that give a character's
number are translated.
"""

CODE = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}")
REFERENCE = re.compile(r"k<([a-zA-Z][a-zA-Z0-9]*)>|([1-9])(?![0-9])")
PROPERTY = re.compile(r"[pP]\{\w+\}")
REPETITION = re.compile(r"\{\d+(?:,\d*)?\}")
NAMED = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
SAME_GROUP = re.compile(r"\(\?(?:[:=!>]|<[=!]|[ims]*-?[ims]+:)")
SWITCH = re.compile(r"\(\?[ims]+\)")
"""Matches flags for the rest of the expression; Python allows them only at its start."""

SINGLE = re.compile(r"\\?.|\\x..|\\u....", re.DOTALL)
"""Matches a single character of a class, as it is written in Python."""

ONLY_PYTHON = re.compile(r"\(\?(?:P|#|\(|<\w*_)")


class BadExpression(ValueError):
    """Raised for text that is not a regular expression of Java, or that cannot be evaluated
    here.
    """


@dataclass(frozen=True)
class Expression:
    """A regular expression of Java."""

    text: str
    """The expression as it was given."""
    _compiled: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> Expression:
        """Compile an expression for matching ASCII names.

        Errors: `BadExpression`, also for Java syntax that is not supported here.
        """
        written = "".join(_Translation(text).parts())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)
                return cls(text, re.compile(written, re.ASCII))
        except (re.error, FutureWarning, OverflowError) as error:
            raise _cannot_evaluate(text, str(error)) from None

    def matches(self, name: str) -> bool:
        """True if the expression matches the whole name, as `String.matches` in Java."""
        return self._compiled.fullmatch(name) is not None


def _cannot_evaluate(text: str, reason: str) -> BadExpression:
    return BadExpression(f"{text} cannot be evaluated here as Java does: {reason}")


class _Translation:
    """The translation of a regular expression from Java to Python, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def parts(self) -> Iterator[str]:
        """Yield the parts of the expression in Python's syntax. Errors: `BadExpression`."""
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == "\\":
                yield self._escape()
            elif here == "[":
                yield self._character_class()
            elif self.text.startswith("(?", self.at):
                yield self._group_opening()
            elif here == "{":
                yield self._quantifier()
            else:
                self.at += 1
                yield here

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the current position and move past the match; None if there is no
        match.
        """
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def _quoted_text(self) -> str:
        r"""Return the text up to `\E`, quoted for Python, and move past it."""
        quoted, _, _ = self.text[self.at :].partition("\\E")
        self.at += len(quoted) + len("\\E")
        return re.escape(quoted)

    def _escape(self, inside: bool = False) -> str:
        """Return the translation of the escape at the current position.

        If the escape is `inside` a character class, a predefined class is returned without
        brackets.
        """
        self.at += 1
        escaped = self.text[self.at : self.at + 1]
        code = self._take(CODE) or self._take(PROPERTY)
        if code:
            return self._character_escape(code[0], inside)
        reference = None if inside else self._take(REFERENCE)
        if reference:
            return f"(?P={reference[1]})" if reference[1] else f"(?:\\{reference[2]})"
        self.at += 1
        if escaped == "Q":
            return self._quoted_text()
        if escaped == "e":
            return r"\x1b"
        if escaped in SHARED:
            return f"\\{escaped}"
        if escaped in ELSEWHERE and not inside:
            return ELSEWHERE[escaped]
        if escaped.lower() in CLASSES:
            return self._character_escape(escaped, inside)
        if escaped in FOREIGN or escaped.isdigit():
            raise _cannot_evaluate(self.text, f"\\{escaped}")
        if escaped.isalpha() or not escaped:
            raise self._not_java_error(f"\\{escaped}")
        return re.escape(escaped)

    def _character_escape(self, code: str, inside: bool) -> str:
        """Translate an escape that gives a character's number or names a predefined class."""
        if CODE.fullmatch(code):
            return f"\\{code}"
        members = CLASSES.get(code[0].lower() + code[1:])
        negated = code[0].isupper()
        if members is None or (negated and inside):
            raise _cannot_evaluate(self.text, f"\\{code}")
        return members if inside else f"[{'^' if negated else ''}{members}]"

    def _character_class(self, within: bool = False) -> str:
        """Return the translation of a character class; without brackets if it is `within` another
        class.
        """
        self.at += 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        members: list[str] = []
        was_several = False
        while not (members and self.text.startswith("]", self.at)):
            here = self.text[self.at : self.at + 1]
            if not here:
                raise self._not_java_error("an unclosed character class")
            if self.text.startswith("&&", self.at) or (here == "[" and negated):
                raise self._combined_classes_error()
            if here == "[":
                member = self._character_class(within=True)
            elif here == "\\":
                member = self._escape(inside=True)
            else:
                self.at += 1
                member = here if here == "-" else re.escape(here)
            several = here == "[" or SINGLE.fullmatch(member) is None
            follows = several and members[1:] and members[-1] == "-"
            ends = self.text.startswith("]", self.at)
            if follows or (was_several and member == "-" and not ends):
                raise self._combined_classes_error()  # The hyphen stands for itself in Java.
            was_several = several
            members.append(member)
        self.at += 1
        if within and negated:
            raise self._combined_classes_error()
        content = "".join(members)
        return content if within else f"[{'^' if negated else ''}{content}]"

    def _group_opening(self) -> str:
        """Return the translation of the opening of a group that has a name or does not capture."""
        named = self._take(NAMED)
        if named:
            return f"(?P<{named[1]}>"
        if ONLY_PYTHON.match(self.text, self.at):
            raise self._not_java_error(self.text[self.at : self.at + 3])
        known = self._take(SAME_GROUP) or self._take(SWITCH)
        if known is None:
            raise _cannot_evaluate(self.text, self.text[self.at : self.at + 3])
        return known[0]

    def _quantifier(self) -> str:
        """Return the translation of a quantifier in braces, such as `{2,3}`."""
        known = self._take(REPETITION)
        if known is None:
            shown, end, _ = self.text[self.at :].partition("}")
            raise self._not_java_error(f"{shown}{end}")
        return known[0]

    def _combined_classes_error(self) -> BadExpression:
        return _cannot_evaluate(self.text, "a character class that combines others")

    def _not_java_error(self, reason: str) -> BadExpression:
        return BadExpression(
            f"{self.text} is not a Java regular expression, so Pulsar cannot match it: {reason}"
        )
