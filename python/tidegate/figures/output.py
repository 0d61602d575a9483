"""How figures are written: formats, width and font.

Figures are designed for a screen, 8 inches wide with letters of 11 points. One for a column of a
paper is as wide as the column, its letters have the size that is asked for, and it has no title: a
paper's caption says what it shows.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.text import Text

from tidegate.errors import UsageError
from tidegate.escapes import lines
from tidegate.results.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

FORMATS = ("png", "svg", "pdf")
TITLE = "title"
"""Mark of what a figure for a paper leaves out."""

_MM_PER_INCH = 25.4
_SCREEN_POINTS = 11.0
_PAPER_POINTS = 8.0
_WIDTHS_MM = (30.0, 1000.0)
_POINTS = (4.0, 72.0)
_NARROW_INCHES = 5.5
"""Narrower figures have no room beside the axes."""
_FLATTEST = 0.6
"""Height over width of the flattest figure of a column."""
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None},
}  # fmt: skip
"""Without the time and the program's version: the same result gives the same file."""


@dataclass(frozen=True)
class Output:
    """Formats, width and font of figures."""

    formats: tuple[str, ...] = ("png",)
    width_mm: float | None = None
    """Width of a column; None for the screen's."""
    font: str | None = None
    """Family, such as ``serif`` or ``Nimbus Roman``."""
    font_points: float | None = None
    """Size of letters; default: 8 with a width, else 11."""

    @classmethod
    def of(
        cls, formats: str | None = None, width: str | None = None, font: str | None = None
    ) -> Output:
        """Read what people write.

        >>> Output.of("svg,pdf", "84mm", "serif, 9pt")
        Output(formats=('svg', 'pdf'), width_mm=84.0, font='serif', font_points=9.0)
        """
        family, points = _font(font)
        return cls(_formats(formats), _width_mm(width), family, points)

    @property
    def points(self) -> float:
        """Size of most letters."""
        return self.font_points or (_PAPER_POINTS if self.width_mm else _SCREEN_POINTS)


_SCREEN = Output()
_now: ContextVar[tuple[Output, list[Path]]] = ContextVar("_now")


def _style(output: Output) -> dict[Any, Any]:
    """What an output adds to the look of all figures."""
    more: dict[Any, Any] = {"svg.hashsalt": "tidegate", "pdf.fonttype": 42}
    if output.font:
        # What the family lacks is taken from the usual one.
        more["font.family"] = [output.font, "DejaVu Sans"]
    return more


@contextmanager
def drawing(output: Output | None = None) -> Iterator[list[Path]]:
    """Draw in the common look and with this output; gives the files that `write` has written."""
    from tidegate.figures.look import STYLE

    chosen = output or _SCREEN
    files: list[Path] = []
    token = _now.set((chosen, files))
    try:
        with rc_context({**STYLE, **_style(chosen)}):
            yield files
    finally:
        _now.reset(token)


def write(figure: Figure, path: Path) -> Path:
    """Write a figure in the formats of the current output; return the first file.

    A link of this name is replaced, and what it leads to stays as it is. Names in the figure are
    what files say; no sign in them is a formula's, or acts.
    """
    output, files = _now.get((_SCREEN, []))
    for text in figure.findobj(Text):
        text.set_text(lines(text.get_text()))
        text.set_parse_math(False)
    _fit(figure, output)
    written = [path.with_suffix(f".{ending}") for ending in output.formats]
    for place in written:
        _save(figure, place)
    files += written
    return written[0]


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure that axes are in."""
    figure = axes.get_figure(root=True)
    assert figure is not None  # noqa: S101 - axes of ours are in one
    return figure


def _save(figure: Figure, place: Path) -> None:
    ending = place.suffix[1:]
    replace_file(
        place, lambda draft: figure.savefig(draft, format=ending, metadata=_METADATA[ending])
    )


def _fit(figure: Figure, output: Output) -> None:
    """Bring the letters to their size and the figure to its width."""
    letters = output.points / _SCREEN_POINTS
    if letters != 1.0:
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                labels = axis.get_ticklabels()
                size = float(labels[0].get_fontsize()) if labels else _SCREEN_POINTS
                axis.set_tick_params(which="both", labelsize=size * letters)
        ticks = {
            id(label) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
            for label in axis.get_ticklabels(which="both")
        }  # fmt: skip
        for text in figure.findobj(Text):
            if id(text) not in ticks:
                text.set_fontsize(float(text.get_fontsize()) * letters)
    titles = [text for text in figure.findobj(Text) if text.get_gid() == TITLE]
    for text in titles:
        text.set_gid(None)
    if output.width_mm is None:
        return
    wide, high = figure.get_size_inches()
    width = output.width_mm / _MM_PER_INCH
    # Letters shrink less than the figure, and rows of letters set the height.
    high = max(high * (letters * width / wide) ** 0.5, _FLATTEST * width)
    figure.set_size_inches(width, high)
    for text in titles:
        text.set_text("")
    if width < _NARROW_INCHES:
        for legend in list(figure.legends):
            _put_below(figure, legend, output.points)


def _put_below(figure: Figure, legend: Legend, points: float) -> None:
    """Lay a legend below the axes in as many columns as fit, and make room for it."""
    labels = [text.get_text() for text in legend.get_texts()]
    wide, high = figure.get_size_inches()
    letter = points / 72
    column = (max(map(len, labels)) * 0.55 + 5.5) * letter
    columns = max(1, min(len(labels), int(wide / column)))
    title = legend.get_title().get_text() or None
    drawn = dict[str, Any]()
    for axes in figure.axes:
        drawn |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    own = zip(labels, legend.legend_handles, strict=True)
    handles: list[Any] = [drawn.get(label, handle) for label, handle in own]
    legend.remove()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, title=title, fontsize=points,
        title_fontsize=points, columnspacing=1.2, handlelength=1.8,
    )  # fmt: skip
    rows = -(-len(labels) // columns) + (title.count("\n") + 1 if title else 0)
    figure.set_size_inches(wide, high + 1.5 * letter * rows)


def _formats(text: str | None) -> tuple[str, ...]:
    if text is None:
        return _SCREEN.formats
    found = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for one in found:
        if one not in FORMATS:
            raise UsageError(f"--figures: {one!r} is none of {', '.join(FORMATS)}")
    return found


def _width_mm(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *(mm|cm|in)", text.strip())
    scale = {"mm": 1.0, "cm": 10.0, "in": _MM_PER_INCH}
    width = float(found[1]) * scale[found[2]] if found else 0.0
    if not _WIDTHS_MM[0] <= width <= _WIDTHS_MM[1]:
        low, high = _WIDTHS_MM
        raise UsageError(
            f"--figure-width: {text[:40]!r} is no width such as 84mm, from {low:g} to {high:g} mm"
        )
    return width


def _font(text: str | None) -> tuple[str | None, float | None]:
    family, points = None, None
    for part in (text or "").split(","):
        size = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *pt", part.strip())
        if size:
            points = float(size[1])
        elif part.strip():
            family = part.strip()
    if points is not None and not _POINTS[0] <= points <= _POINTS[1]:
        raise UsageError(f"--figure-font: {points:g} pt is not from {_POINTS[0]:g} to 72 pt")
    if family is not None:
        _check_family(family)
    return family, points


def _check_family(family: str) -> None:
    from difflib import get_close_matches

    from matplotlib.font_manager import fontManager

    generic = ["serif", "sans-serif", "monospace", "cursive", "fantasy"]
    known = generic + sorted({font.name for font in fontManager.ttflist})
    if family not in known:
        near = get_close_matches(family, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`fc-list : family` names those there are"
        raise UsageError(f"--figure-font: no font {family!r} here; {hint}")
