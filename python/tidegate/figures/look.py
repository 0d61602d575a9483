"""The look that all figures share.

Colours are Okabe and Ito's, which people with any colour vision can tell apart; lines differ in
their dashes as well, for print.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from tidegate.escapes import lines
from tidegate.figures.output import TITLE, write
from tidegate.results.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

__all__ = [
    "COLOURS", "DASHES", "INK", "MARKERS", "STYLE", "Look", "averaged", "file_name", "look",
    "new_figure", "plain_log_ticks", "subtitle", "write", "write_light",
]  # fmt: skip

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
_SOME_DECADES, _MANY_DECADES = 1e3, 1e4
MARKERS = ("o", "s", "^", "D", "v", "P")
INK = "#333333"
STYLE: dict[Any, Any] = {
    "font.size": 11, "axes.titlesize": 13, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK,
    "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.8, "axes.axisbelow": True, "lines.linewidth": 1.6,
    "legend.frameon": False, "figure.dpi": 150, "savefig.dpi": 150,
    "text.parse_math": False,
}  # fmt: skip


class Look(NamedTuple):
    """How one of several lines is drawn; no two of the first 36 look the same."""

    colour: str
    dashes: Any
    marker: str


def look(number: int) -> Look:
    """Each colour comes again with other dashes and another marker once all have been used."""
    again = number + number // len(COLOURS)
    return Look(
        COLOURS[number % len(COLOURS)], DASHES[again % len(DASHES)], MARKERS[again % len(MARKERS)]
    )


def new_figure(height: float) -> tuple[Figure, Axes]:
    """A figure of its own, apart from pyplot's, so that threads may draw."""
    figure = Figure(figsize=(8.0, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def subtitle(axes: Axes, title: str, below: str) -> None:
    """Title, and a line below it in grey."""
    axes.set_title(f"{title}\n", pad=4, gid=TITLE)
    axes.annotate(
        below, (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", fontsize=10,
        color="#666666", gid=TITLE,
    )  # fmt: skip


def averaged(runs: int) -> str:
    """What a line or bar stands for."""
    return f"mean of {runs} runs, 95 % confidence" if runs > 1 else "one run"


LIGHT_BYTES = 100_000
"""Largest SVG of a page, bytes; a larger figure becomes a PNG with a palette."""
_PALETTE_COLOURS = 128


def write_light(figure: Figure, stem: Path) -> Path:
    """Write a page's figure once, as `stem.svg`, or as `stem.png` where that is lighter.

    What there is of the other kind is removed. The same numbers give the same file.
    """
    for text in figure.findobj(Text):
        text.set_text(lines(text.get_text()))
        text.set_parse_math(False)
    stem.parent.mkdir(parents=True, exist_ok=True)
    # Names have dots, as in `table5.5.1`.
    svg, png = (stem.with_name(stem.name + ending) for ending in (".svg", ".png"))
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    light = len(drawn.getvalue()) <= LIGHT_BYTES
    if light:
        replace_file(svg, lambda draft: draft.write_bytes(drawn.getvalue()))
    else:
        replace_file(png, lambda draft: _write_palette(figure, draft))
    (png if light else svg).unlink(missing_ok=True)
    return svg if light else png


def _write_palette(figure: Figure, path: Path) -> None:
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    with Image.open(drawn) as image:
        few = image.convert("RGB").quantize(_PALETTE_COLOURS, dither=Image.Dither.NONE)
        few.save(path, format="png", optimize=True)


def file_name(name: str) -> str:
    """A name as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)


def plain_log_ticks(axis: XAxis | YAxis) -> None:
    """1, 2, 5, 10 rather than powers, as most factors span one to three decades.

    Above three, every decade has a tick, and above four every second one.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_data_interval()
    span = high / low if low > 0 else 1.0
    subs = (1.0, 2.0, 5.0) if span <= _SOME_DECADES else (1.0,)
    base = 100.0 if span > _MANY_DECADES else 10.0
    axis.set_major_locator(LogLocator(base=base, subs=subs))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
