"""The page: the simulator in a browser, in one HTML file that needs no server."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ScenarioError
from tidegate.pages import PAGES, file_stem, filled, write_page
from tidegate.scenarios.reading import load_scenario, parse, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate._native import Scenario
    from tidegate.scenarios.reading import Settings, Source

PAGE = PAGES / "tidegate.html"


def explore(
    scenario: Source | None = None,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    against: Mapping[str, str] | None = None,
    out: str | Path = "results",
) -> Path:
    """Write the page with a scenario, and return its path.

    Parameters
    ----------
    scenario
        As for `simulate`; default: the page begins with one of its own.
    set, add
        As for `simulate`. The page then has the scenario with every default filled in.
    against
        Keys and TOML values of the variant that the page shows beside it.
    out
        Folder of the page. Its name is that of the scenario.

    Raises
    ------
    MissingPageError
        Where the page is not built.
    ScenarioError
        Where the scenario or the variant is refused.

    """
    name, html, _ = page_of(scenario, set=set, add=add, against=against)
    return write_page(Path(out) / f"{name}.html", html)


def page_of(
    scenario: Source | None,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    against: Mapping[str, str] | None = None,
) -> tuple[str, str, dict[str, str] | None]:
    """Return name and text of the page, and the state that it begins with, if it is given one."""
    if scenario is None:
        return "tidegate", filled(PAGE, None), None
    parsed = load_scenario(scenario, set=set, add=add)
    changed = ";".join(f" {key}={value}" for key, value in (against or {}).items()).strip()
    text = parsed.to_toml() if set or add else page_text(scenario, parsed)
    parse(text, list((against or {}).items()))
    state = {"text": text, "against": changed}
    return file_stem(parsed.name), filled(PAGE, state), state


def page_text(source: Source, parsed: Scenario) -> str:
    """Return the file with its comments, unless it names files, which a page cannot read."""
    from tidegate._native import Scenario

    text, _, _ = text_of(source)
    try:
        Scenario.parse(text)
    except ScenarioError:
        return parsed.to_toml()
    return text


def fragment(text: str, against: str = "") -> str:
    """Return the part of the page's address that has a scenario: ``#s=`` and what is compressed."""
    content = json.dumps({"text": text, "against": against}, ensure_ascii=False).encode()
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packing.compress(content) + packing.flush()
    return f"#s={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
