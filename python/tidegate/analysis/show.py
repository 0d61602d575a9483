"""Answers as people read them: words and tables, in units that fit."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Literal

from tidegate.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from tidegate.analysis.analyse import Analysis
    from tidegate.analysis.views.answer import Answer, Rows, Value

# Ending of a name: unit and by what the number is multiplied.
_UNITS = {
    "_pps": ("packets/s", 1.0), "_bps": ("Mb/s", 1e-6), "_packets": ("packets", 1.0),
    "_hz": ("Hz", 1.0), "_deg": ("°", 1.0), "_erlang": ("Erlang", 1.0), "_bytes": ("B", 1.0),
    "_s": ("ms", 1e3),
}  # fmt: skip


def paragraphs(view: str, answer: Answer) -> tuple[str, str]:
    """What stands above and below the tables of an answer."""
    mapped = "; ".join(f"{key} {_text(key, value)}" for key, value in answer.mapped.items())
    above = [f"{view}: {answer.model}", f"  mapped to: {mapped}"]
    above += [f"  {_verdict(answer.values)}"] if answer.values else []
    below = [f"  assumes: {'; '.join(answer.assumptions)}"]
    below += [f"  warning: {warning}" for warning in answer.warnings]
    return "\n".join(above), "\n".join([*below, ""])


def tables_of(answer: Answer) -> list[RenderableType]:
    """One table for each of the answer's."""
    return [_table(rows) for rows in answer.tables.values() if rows]


def html_of(analysis: Analysis) -> str:
    """All views for a notebook: words and tables, and why others do not apply."""
    parts = []
    for view, answer in analysis.answers.items():
        above, below = paragraphs(view, answer)
        parts += [_paragraph(above), *map(_html_table, filter(None, answer.tables.values()))]
        parts.append(_paragraph(below))
    silent = "\n".join(f"{view} does not apply: {why}" for view, why in analysis.silences.items())
    return "".join([*parts, _paragraph(silent) if silent else ""])


def _paragraph(text: str) -> str:
    return f"<p>{'<br>'.join(escape(one_line(line)) for line in text.strip().splitlines())}</p>"


def _html_table(rows: Rows) -> str:
    head = "".join(f"<th>{escape(one_line(_heading(name)))}</th>" for name in rows[0])
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{_side(value)}">{escape(one_line(_cell(name, value)))}</td>'
            for name, value in row.items()
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _verdict(values: Mapping[str, Value]) -> str:
    return ", ".join(
        f"{_words(name)} {_text(name, value)}"
        for name, value in values.items()
        if value is not None or not _ends_of_search(name, values)
    )


def _ends_of_search(name: str, values: Mapping[str, Value]) -> bool:
    """Whether other values say how far was looked for this one."""
    quantity = name.removesuffix(_ending(name) or "")
    return any(other.startswith((f"{quantity}_be", f"{quantity}_searched")) for other in values)


def _heading(name: str) -> str:
    return _words(name) + (f" [{_unit(name)[0]}]" if _unit(name)[0] else "")


def _table(rows: Rows) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name, value in rows[0].items():
        table.add_column(Text(one_line(_heading(name))), justify=_side(value))
    for row in rows:
        table.add_row(*(Text(one_line(_cell(name, value))) for name, value in row.items()))
    return table


def _side(value: Value) -> Literal["left", "right"]:
    return "left" if isinstance(value, str) else "right"


def _words(name: str) -> str:
    ending = _ending(name)
    return (name.removesuffix(ending) if ending else name).replace("_", " ")


def _ending(name: str) -> str | None:
    return next((ending for ending in _UNITS if name.endswith(ending)), None)


def _unit(name: str) -> tuple[str, float]:
    ending = _ending(name)
    return _UNITS[ending] if ending else ("", 1.0)


def _text(name: str, value: Value) -> str:
    cell, (unit, _) = _cell(name, value), _unit(name)
    return f"{cell} {unit}" if unit and isinstance(value, int | float) else cell


def _cell(name: str, value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return one_line(value)
    _, scale = _unit(name)
    return f"{value:,}" if isinstance(value, int) and scale == 1 else f"{value * scale:.4g}"
