"""What pages of the analysis say is computed while they are built, or the build fails.

Python blocks of `docs/analysis.md`, `docs/analysis/*.md` and pages of results are run in their
order, those of a page with one another's names and in the page's folder, so that figures come out
where it shows them.
A line that ends in a comment which begins with a number, as ``at.gain_margin  # 1.76: margin``, has
to give it to the digits that are printed. So do several numbers, in brackets or not, and words in
quotes, True, False and None.
"""

from __future__ import annotations

import ast
import contextlib
import io
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+/\d+|-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")
WORDS = ("True", "False", "None")


class NoLongerTrueError(Exception):
    """A page says what is not so."""


def pages() -> list[Path]:
    """Those whose numbers are computed."""
    results = (DOCS.parent / "studies").glob("*/RESULTS*.md")
    computed = [page for page in results if BLOCK.search(page.read_text(encoding="utf-8"))]
    return [DOCS / "analysis.md", *sorted((DOCS / "analysis").glob("*.md")), *sorted(computed)]


def check(page: Path) -> int:
    """Run a page's blocks, and say how many of its numbers were compared."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    compared = 0
    with _inside(page.parent):
        for block in BLOCK.finditer(text):
            first = text.count("\n", 0, block.start(1)) + 1
            compared += _run(block[1], names, f"{page.name}:{first}")
    return compared


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.chdir(before)


def _run(code: str, names: dict[str, Any], place: str) -> int:
    lines = code.split("\n")
    compared = 0
    for statement in ast.parse(code).body:
        source = ast.get_source_segment(code, statement) or ""
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), place, "exec"), names)  # noqa: S102
            continue
        value = eval(compile(ast.Expression(statement.value), place, "eval"), names)  # noqa: S307
        last = lines[(statement.end_lineno or 1) - 1][statement.end_col_offset or 0 :]
        output = last.partition("#")[2].strip()
        if output and _is_said(output):
            _compare(value, output, f"{place}: {source}")
            compared += 1
    return compared


def _is_said(output: str) -> bool:
    """Whether a comment begins with what is to come out."""
    return bool(re.match(r"[\[(]?(-?\d|True|False|None|\"|')", output))


def _compare(value: object, output: str, place: str) -> None:
    claim = output.partition(": ")[0].rstrip(":")
    found = list(_flat(value))
    for word in WORDS:
        if claim.startswith(word):
            _hold(found == [ast.literal_eval(word)], value, output, place)
            return
    if claim[0] in "\"'":
        _hold(found == [ast.literal_eval(claim)], value, output, place)
        return
    numbers = NUMBER.findall(claim)
    # One number said of many that are the same.
    if len(numbers) == 1 and all(_near(one, numbers[0]) for one in found):
        return
    same = len(found) == len(numbers) and all(map(_near, found, numbers))
    _hold(same, value, output, place)


def _near(value: float, number: str) -> bool:
    """To half of the last digit that is printed; a fraction to a millionth."""
    if "/" in number:
        above, below = map(int, number.split("/"))
        return math.isclose(float(value), above / below, rel_tol=1e-6)
    mantissa, _, exponent = number.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return bool(abs(float(value) - float(number.replace(",", ""))) <= 0.5000001 * 10.0**-decimals)


def _hold(so: bool, value: object, output: str, place: str) -> None:
    if not so:
        raise NoLongerTrueError(f"{place} is {value}, and the page says {output}")


def _flat(value: object) -> Iterator[Any]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, dict):
        plain = list(plain.values())
    if isinstance(plain, list | tuple):
        for one in plain:
            yield from _flat(one)
    else:
        yield plain


def _check_all(app: Sphinx) -> None:
    from sphinx.errors import ExtensionError

    if app.builder.name != "html":
        return
    for page in pages():
        try:
            check(page)
        except NoLongerTrueError as error:
            raise ExtensionError(str(error)) from error


def setup(app: Sphinx) -> dict[str, bool]:
    """Compute before pages are read, so that their figures are there."""
    app.connect("builder-inited", _check_all)
    return {"parallel_read_safe": True}
