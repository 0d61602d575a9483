#!/usr/bin/env python3
"""Finds links that lead nowhere: in the checkout's Markdown files, or in a folder of HTML pages.

    tools/dead_links.py                     # *.md of the checkout, as GitHub resolves them
    tools/dead_links.py docs/_build/html    # the built documentation

Looks at relative links and at anchors; what begins with a scheme is others' business. Prints a line
for each dead link and ends with 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {".git", ".venv", "target", "results", "_build", ".pytest_cache", "node_modules"}
# What another file is written from: its links are meant from there.
TEMPLATES = {path for folder in ("studies", "tools") for path in (ROOT / folder).rglob("page.md")}
FENCED = re.compile(r"^(```+|~~~+|:::+).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)


class Page(HTMLParser):
    """The links of a page, and the names that links may point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what the element points to and how it is called."""
        for name, value in attrs:
            if value and name in {"href", "src"}:
                self.links.append(value)
            elif value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)


def markdown(text: str) -> Page:
    """A Markdown page's links and anchors, its headings' included."""
    prose = FENCED.sub("", text)
    page = Page(re.sub(r"`[^`\n]*`", lambda code: code[0].replace("<", " "), prose))
    page.anchors |= {slug(heading) for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)}
    page.links += [inline or defined for inline, defined in LINK.findall(prose)]
    return page


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def dead_links(pages: dict[Path, Page]) -> Iterator[str]:
    """Give a line for each."""
    for path, page in sorted(pages.items()):
        for link in dict.fromkeys(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            # What has a sign of equality is a page's state, not a place in it.
            place = "" if "=" in url.fragment else unquote(url.fragment)
            if not target.exists():
                yield f"{path}: {link}: there is no such file"
            elif place and target in pages and place not in pages[target].anchors:
                yield f"{path}: {link}: there is no such place in that page"


def read(folder: Path, suffix: str) -> dict[Path, Page]:
    """Read all pages of a folder."""
    parse = markdown if suffix == ".md" else Page
    return {
        path: parse(path.read_text(encoding="utf-8"))
        for path in folder.resolve().rglob(f"*{suffix}")
        if path not in TEMPLATES and not SKIPPED & {*path.relative_to(folder.resolve()).parts}
    }


def main() -> int:
    """Check the folder named, or the checkout."""
    pages = read(Path(sys.argv[1]), ".html") if sys.argv[1:] else read(ROOT, ".md")
    found = list(dead_links(pages))
    sys.stdout.write(("\n".join(found) or f"{len(pages)} pages, no dead links") + "\n")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
