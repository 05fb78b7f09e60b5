"""A picture as SVG inside a page: no script, no file beside it, readable without colour and by a screen reader."""

from __future__ import annotations

from html import escape

from ascend_fuse.report.page import printable
from ascend_fuse.report.picture import Picture, places, shortened

LABEL, BARS, SAID = 270, 440, 250  # widths of the columns, px
ROW, BAR, TOP = 24, 16, 30  # heights: of a row, of its bar, of the legend
MARK = {  # by kind: colour (Okabe and Ito, apart for every eye) and the pattern that tells it without colour
    "launch": ("#d55e00", ""), "heads": ("#e69f00", "M0 8L8 0"), "product": ("#0072b2", "M4 0V8"),
    "epilogue": ("#56b4e9", "M0 4H8"), "pipes": ("#56b4e9", "M0 4H8"), "before": ("#999999", "M0 8L8 0"),
    "after": ("#009e73", ""), "used": ("#0072b2", ""), "too much": ("#d55e00", "M0 0L8 8M0 8L8 0"),
    "free": ("#ffffff", ""), "reserve": ("#bbbbbb", "M0 8L8 0"),
}  # fmt: skip


def draw_svg(picture: Picture, name: str) -> str:
    """The picture; `name` is unique in the page. Empty where there is nothing to draw."""
    if not picture.whole:
        return ""
    width, height = LABEL + BARS + SAID, TOP + ROW * len(picture.bars) + 6
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{_text(picture.title)}</title>',
        f'<desc id="{name}-desc">{_text(_described(picture))}</desc>',
        "<defs>",
        *(_pattern(f"{name}-{k}", kind) for k, kind in enumerate(picture.kinds)),
        "</defs>",
        *_legend(picture, name),
    ]
    for row in range(len(picture.bars)):
        lines += _bar(picture, row, name)
    return "\n".join([*lines, "</svg>"])


def _text(text: str) -> str:
    return escape(printable(text))


def _described(picture: Picture) -> str:
    """The picture in words: what it shows, then each bar."""
    return " ".join((picture.description, *(f"{b.label}: {b.said}." for b in picture.bars)))


def _pattern(name: str, kind: str) -> str:
    colour, path = MARK[kind]
    over = f'<path d="{path}" stroke="#000000" stroke-width="1" fill="none"/>' if path else ""
    return (
        f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{colour}"/>{over}</pattern>'
    )


def _rect(x: float, y: float, width: float, fill: str, title: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{BAR}" fill="url(#{fill})" stroke="#333333" '
        f'stroke-width="0.5"><title>{_text(title)}</title></rect>'
    )


def _legend(picture: Picture, name: str) -> list[str]:
    lines: list[str] = []
    x = float(LABEL)
    for k, kind in enumerate(picture.kinds):
        lines.append(_rect(x, 4, BAR, f"{name}-{k}", kind))
        lines.append(f'<text x="{x + BAR + 5:.0f}" y="17">{_text(kind)}</text>')
        x += BAR + 25 + 8 * len(kind)
    if picture.unit:
        scale = f"width of all: {picture.whole:,.2f} {picture.unit}"
        lines.append(f'<text x="{LABEL + BARS + 10}" y="17">{_text(scale)}</text>')
    return lines


def _bar(picture: Picture, row: int, name: str) -> list[str]:
    bar, y = picture.bars[row], TOP + ROW * row
    number = {kind: k for k, kind in enumerate(picture.kinds)}
    lengths = {s.kind: s.length for s in bar.segments}
    line = y + BAR - 4
    label = shortened(bar.label)
    lines = [
        f'<text x="{LABEL - 8}" y="{line}" text-anchor="end">{_text(label)}<title>{_text(bar.label)}</title></text>'
    ]
    for kind, begin, end in places(bar, BARS / picture.whole):
        shown = f"{lengths[kind]:,.2f} {picture.unit}" if picture.unit else f"{100 * lengths[kind]:.0f} %"
        title = f"{bar.label}, {kind}: {shown}"
        lines.append(_rect(LABEL + begin, y, end - begin, f"{name}-{number[kind]}", title))
    lines.append(f'<text x="{LABEL + BARS + 10}" y="{line}">{_text(bar.said)}</text>')
    return lines
