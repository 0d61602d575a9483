"""Links of Markdown pages that Sphinx does not resolve: to folders, and to anchors in HTML.

Each folder that a page links to gets ``_files/FOLDER/index.html`` and copies of its files.
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ overflow-wrap: anywhere; font-family: system-ui, sans-serif }}</style>
<h1>{title}</h1>
<ul>
{items}
</ul>
</html>
"""


def listing(title: str, names: list[str]) -> str:
    """Return a page with a link to each file.

    >>> "<a href='a.toml'>a.toml</a>" in listing("scenarios", ["a.toml"])
    True
    """
    names = [html.escape(name) for name in names]
    items = "\n".join(f"<li><a href='{name}'>{name}</a></li>" for name in names)
    return PAGE.format(title=html.escape(title), items=items)


def anchors(page: str) -> set[str]:
    """Return the names of anchors in HTML.

    >>> anchors('<a id="fig1"></a>')
    {'fig1'}
    """
    return set(re.findall(r'<a id="([^"]+)">', page))


def _link(app: Sphinx, doctree: nodes.document) -> None:
    page = app.env.docname
    source = Path(app.srcdir).resolve()
    here = {name for raw in doctree.findall(nodes.raw) for name in anchors(raw.astext())}
    for node in list(doctree.findall(addnodes.pending_xref)):
        target = str(node.get("reftarget", "")).partition("#")[0]
        if target in here:
            link = nodes.reference("", "", *node.children, internal=True, refid=target)
            node.parent.replace(node, link)
            continue
        folder = Path(app.srcdir, page).parent.joinpath(target).resolve()
        if target and folder.is_dir() and source in folder.parents:
            place = _copied(folder, folder.relative_to(source), Path(app.outdir))
            uri = f"{'../' * page.count('/')}{place}/index.html"
            link = nodes.reference("", "", *node.children, internal=True, refuri=uri)
            node.parent.replace(node, link)


def _copied(folder: Path, name: Path, out: Path) -> str:
    """Copy a folder's files beside a list of them, and return where they are."""
    place = f"_files/{name.as_posix()}"
    to = out / place
    to.mkdir(parents=True, exist_ok=True)
    files = sorted(file for file in folder.iterdir() if file.is_file())
    for file in files:
        shutil.copyfile(file, to / file.name)
    page = listing(name.as_posix(), [file.name for file in files])
    to.joinpath("index.html").write_text(page, encoding="utf-8")
    return place


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace these links before Sphinx resolves the others."""
    app.connect("doctree-read", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
