"""HTML files that ``make page`` builds and the package fills in: a page to explore, a report."""

from __future__ import annotations

import json
from pathlib import Path

from tidegate.data import DATA
from tidegate.errors import MissingPageError, ResultError
from tidegate.results.atomic import replace_file

PAGES = DATA / "page"
"""Built by ``make page``; a wheel has them if they were there."""

_NOTHING = '<script type="application/json" id="given">null</script>'


def filled(page: Path, content: object | None) -> str:
    """Return a built page with its data; None leaves it empty.

    Raises
    ------
    MissingPageError
        Where the page is not built.

    """
    if not page.is_file():
        raise MissingPageError(page.stem)
    html = page.read_text(encoding="utf-8")
    if content is None:
        return html
    # `<` begins the end of the element, which JSON can write otherwise.
    data = json.dumps(content, allow_nan=False).replace("<", "\\u003c")
    return html.replace(_NOTHING, _NOTHING.replace(">null<", f">{data}<"))


def write_page(path: Path, html: str) -> Path:
    """Write a page whole or not at all, and return its path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda draft: draft.write_text(html, encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from None
    return path


def file_stem(name: str) -> str:
    """Return a name as that of a file, without its ending."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return plain[:80].lstrip(".") or "scenario"
