"""The first use of a glossary term on a page links to the glossary.

Terms are the bold words in the first column of the glossary's tables. A cell may name several,
separated by commas, and an abbreviation in brackets. Headings, code and links stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sphinx.application import Sphinx

GLOSSARY = "docs/glossary"
# Words that are mostly used in their plain sense: "runs on Linux" is no replication.
PLAIN = {"run", "cell", "claim"}
LEFT_ALONE = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.raw)


def terms(page: str) -> dict[str, str]:
    """Return the anchor of each term that a glossary in Markdown explains.

    >>> terms("| **user, customer** | x |\\n| **flow completion time** (FCT) | y |")
    {'user': 'term-user', 'customer': 'term-user', 'flow completion time': \
'term-flow-completion-time', 'FCT': 'term-flow-completion-time'}
    """
    found = {}
    for row in re.findall(r"^\| \*\*(.+?)\*\*(?: \((.+?)\))? \|", page, re.MULTILINE):
        names = [name for cell in row for name in cell.split(", ") if name]
        for name in names:
            found.setdefault(name, anchor(names[0]))
    return found


def anchor(term: str) -> str:
    """Return the name of a term's place.

    >>> anchor("95 % confidence interval")
    'term-95-confidence-interval'
    """
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def pattern(names: list[str]) -> re.Pattern[str]:
    """Return what finds a term, as it is or in the plural; words in lower case also capitalised.

    >>> [match[0] for match in pattern(["flow", "ECN"]).finditer("Flows, ECN; ecn, overflow")]
    ['Flows', 'ECN']
    """
    longest_first = sorted(names, key=len, reverse=True)
    words = [_initial(name) + re.escape(name[1:]) for name in longest_first]
    return re.compile(rf"(?<![\w-])({'|'.join(words)})s?(?![\w-])")


def _initial(name: str) -> str:
    first = name[0]
    return f"[{first}{first.upper()}]" if name.islower() and first.isalpha() else re.escape(first)


def _link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    if page == GLOSSARY or app.builder.format != "html":
        return
    places = terms(_glossary(app).read_text(encoding="utf-8"))
    uri = app.builder.get_relative_uri(page, GLOSSARY)
    left = {name: place for name, place in places.items() if name not in PLAIN}
    for text in list(doctree.findall(nodes.Text)):
        if not left:
            return
        if not any(isinstance(above, LEFT_ALONE) for above in _above(text)):
            new = list(_pieces(text.astext(), left, uri))
            if len(new) > 1:
                text.parent.replace(text, new)


def _pieces(text: str, left: dict[str, str], uri: str) -> Iterator[nodes.Node]:
    """Yield the text with links, and take what is linked off the terms that are left."""
    end = 0
    for match in pattern(list(left)).finditer(text):
        name = match[1] if match[1] in left else match[1][0].lower() + match[1][1:]
        place = left.get(name)
        if place is None:
            continue
        for other in [one for one, its in left.items() if its == place]:
            del left[other]
        yield nodes.Text(text[end : match.start()])
        link = nodes.reference("", match[0], internal=True, refuri=f"{uri}#{place}")
        link["classes"].append("term")
        yield link
        end = match.end()
    yield nodes.Text(text[end:])


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _glossary(app: Sphinx) -> Path:
    return app.srcdir / f"{GLOSSARY}.md"


def _name_places(app: Sphinx, doctree: nodes.document) -> None:
    """Give the terms of the glossary their anchors."""
    if app.env.docname != GLOSSARY:
        return
    places = terms(_glossary(app).read_text(encoding="utf-8"))
    for strong in doctree.findall(nodes.strong):
        place = places.get(strong.astext().split(", ")[0])
        if place:
            strong["ids"].append(place)


def setup(app: Sphinx) -> dict[str, bool]:
    """Link once all else is resolved."""
    app.connect("doctree-read", _name_places)
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
