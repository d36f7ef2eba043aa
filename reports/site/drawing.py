"""SVG elements of pictures, colored by the style of the page.

A picture is as wide as a phone, so that nobody has to scroll it. Lengths are in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 360
ROW = 26
CHARACTER = 7.0
"""Maximum width of a character, in pixels, in the style's font size; digits and spaces are
narrower.
"""
GAP = 4
"""Distance in pixels between a text and a line beside it."""


def svg(height: float, said: str, body: Sequence[str]) -> str:
    """Return a picture of this height. `said` describes it to screen readers."""
    box = f'viewBox="0 0 {WIDTH} {height:g}"'
    head = f'<svg class="pc-picture" {box} role="img" aria-label="{escape(said)}">'
    caption = f"<figcaption>{escape(said)}.</figcaption>"
    return f"<figure>{head}{''.join(body)}</svg>{caption}</figure>"


def rectangle(left: float, top: float, width: float, height: float, kind: str) -> str:
    """Return a rectangle with the CSS class `kind`."""
    size = f'width="{max(width, 0.5):.1f}" height="{height:g}"'
    return f'<rect class="pc-{kind}" x="{left:.1f}" y="{top:g}" {size}/>'


def vertical_line(left: float, top: float, height: float, kind: str) -> str:
    """Return a vertical line with the CSS class `kind`."""
    ends = f'y1="{top:g}" y2="{top + height:g}"'
    return f'<line class="pc-{kind}" x1="{left:.1f}" x2="{left:.1f}" {ends}/>'


def beside_lines(left: float, words: str, lines: Sequence[float]) -> float:
    """Return the first position, from `left` to the right, at which no line crosses the text.

    `lines` are the horizontal positions of the vertical lines.
    """
    for line in sorted(lines):
        if left - GAP < line < left + width_of(words) + GAP:
            left = line + GAP
    return left


def width_of(words: str) -> float:
    """Return the maximum width of a text, in pixels."""
    return CHARACTER * len(words)


def text(left: float, top: float, words: str, anchor: str = "start") -> str:
    """Return a text element; `top` is the position of the text's baseline."""
    return f'<text x="{left:.1f}" y="{top:g}" text-anchor="{anchor}">{escape(words)}</text>'
