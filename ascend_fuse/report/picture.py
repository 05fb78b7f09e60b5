"""Bars to one scale: what they say, and how they are drawn with characters. `svg` draws them for a browser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ascend_fuse.report.page import printable

COLUMNS = 48  # of the longest bar
LABEL = 36  # columns; the middle of a longer label is left out
# By kind of segment; those of one picture differ.
CHARACTERS = {
    "launch": "█", "heads": "▓", "product": "▒", "epilogue": "░", "pipes": "░",
    "before": "░", "after": "█", "used": "█", "too much": "X", "free": "·", "reserve": "░",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a bar; `length` in the picture's unit."""

    kind: str
    length: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One line: the label, the segments from `start` on, and what they say in words."""

    label: str
    segments: tuple[Segment, ...]
    said: str
    start: float = 0.0

    @property
    def end(self) -> float:
        """Where the last segment ends."""
        return self.start + sum(s.length for s in self.segments)


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars to one scale, with a sentence that says what they show; `unit` is for the scale, "" for shares."""

    title: str
    description: str
    bars: tuple[Bar, ...]
    unit: str = ""

    @property
    def whole(self) -> float:
        """The length of the scale."""
        return max((b.end for b in self.bars), default=0.0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of segments, in the order in which they appear."""
        return tuple(dict.fromkeys(s.kind for b in self.bars for s in b.segments if s.length > 0))


def places(bar: Bar, scale: float) -> list[tuple[str, float, float]]:
    """Each segment that has a length: kind, where it begins and ends, in `scale` per unit."""
    found: list[tuple[str, float, float]] = []
    at = bar.start
    for s in bar.segments:
        if s.length > 0:
            found.append((s.kind, at * scale, (at + s.length) * scale))
        at += s.length
    return found


def shortened(label: str) -> str:
    """The label without control characters and, if it is long, without its middle."""
    text = printable(label)
    return text if len(text) <= LABEL else f"{text[: LABEL // 2 - 1]}…{text[-LABEL // 2 :]}"


def draw(picture: Picture) -> list[str]:
    """Lines of characters: a legend, then one line a bar. Ends are rounded to whole characters, not lengths."""
    whole = picture.whole
    if not whole:
        return []
    legend = "  ".join(f"{CHARACTERS[k]} {k}" for k in picture.kinds)
    scale = f"{whole / COLUMNS:.3g} {picture.unit} a character" if picture.unit else ""
    labels = [shortened(b.label) for b in picture.bars]
    width = max(map(len, labels))
    lines = ["   ".join(filter(None, (legend, scale)))]
    for label, bar in zip(labels, picture.bars, strict=True):
        drawn = _line(places(bar, COLUMNS / whole))
        lines.append(f"{label:<{width}} |{drawn:<{COLUMNS}}| {printable(bar.said)}".rstrip())
    return lines


def _line(segments: Iterable[tuple[str, float, float]]) -> str:
    drawn = ""
    for kind, begin, end in segments:
        drawn = drawn.ljust(round(begin)) + CHARACTERS[kind] * (round(end) - round(begin))
    return drawn
