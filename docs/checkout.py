"""Links to folders of the checkout lead to a list of their files.

Sphinx resolves links to pages and to files; a folder has neither. Each folder that a page links to
gets ``_files/FOLDER/index.html`` and copies of its files.
"""

from __future__ import annotations

import html
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from docutils.nodes import Element, TextElement
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
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


def _folder(
    app: Sphinx, env: BuildEnvironment, node: Element, content: TextElement
) -> nodes.reference | None:
    target = str(node.get("reftarget", "")).partition("#")[0]
    page = node.get("refdoc", env.docname)
    folder = Path(app.srcdir, page).parent.joinpath(target).resolve()
    source = Path(app.srcdir).resolve()
    if not target or not folder.is_dir() or source not in folder.parents:
        return None
    place = f"_files/{folder.relative_to(source).as_posix()}"
    to = Path(app.outdir, place)
    files = sorted(file for file in folder.iterdir() if file.is_file())
    to.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, to / file.name)
    title = folder.relative_to(source).as_posix()
    to.joinpath("index.html").write_text(listing(title, [f.name for f in files]), encoding="utf-8")
    up = "../" * page.count("/")
    return nodes.reference("", "", content, internal=True, refuri=f"{up}{place}/index.html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Resolve what Sphinx could not."""
    app.connect("missing-reference", _folder)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
