"""The page: the simulator in a browser, in one HTML file that needs no server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.data import DATA
from tidegate.errors import MissingPageError, ResultError, ScenarioError
from tidegate.results.atomic import replace_file
from tidegate.scenarios.reading import load_scenario, parse, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate._native import Scenario
    from tidegate.scenarios.reading import Settings, Source

PAGE = DATA / "page" / "tidegate.html"
"""Built by ``make page``; a wheel has it if it was there."""

_NOTHING = '<script type="application/json" id="given">null</script>'


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
    if not PAGE.is_file():
        raise MissingPageError
    page = PAGE.read_text(encoding="utf-8")
    name = "tidegate"
    if scenario is not None:
        parsed = load_scenario(scenario, set=set, add=add)
        changed = ";".join(f" {key}={value}" for key, value in (against or {}).items()).strip()
        text = parsed.to_toml() if set or add else page_text(scenario, parsed)
        parse(text, list((against or {}).items()))
        page = page.replace(_NOTHING, _given({"text": text, "against": changed}))
        name = _file_name(parsed.name)
    path = Path(out) / f"{name}.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda draft: draft.write_text(page, encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from None
    return path


def page_text(source: Source, parsed: Scenario) -> str:
    """Return the file with its comments, unless it names files, which a page cannot read."""
    from tidegate._native import Scenario

    text, _, _ = text_of(source)
    try:
        Scenario.parse(text)
    except ScenarioError:
        return parsed.to_toml()
    return text


def _given(state: Mapping[str, str]) -> str:
    # `<` begins the end of the element, which JSON can write otherwise.
    content = json.dumps(state).replace("<", "\\u003c")
    return _NOTHING.replace(">null<", f">{content}<")


def _file_name(name: str) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return plain[:80].lstrip(".") or "scenario"
