"""Below the equations of a mechanism's page, the simulator itself with a scenario that has it.

Only where ``make page`` has built the page of `tidegate explore`, and ``try_it`` is set: the site
of ``make site`` has it, once, beside the documentation. It is loaded when a reader opens it.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tidegate
from tidegate.errors import TidegateError
from tidegate.exploring import PAGE, fragment, page_text
from tidegate.scenarios.reading import parse

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from tidegate._native import Scenario
    from tidegate.scenarios.mechanisms import Mechanism

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"
BASE = "evening-peak"
OTHER_BASES = {"bottleneck": "rem", "differentiation": "cpq-aggressiveness"}
"""What takes a mechanism that needs senders with prices, or RED."""
EXPLORER = "explore.html"
"""Name of the page in the site, from its root."""
BEST = {
    "abc": ("evening-peak", "bottleneck.differentiation.kind=none"),
    "activity-meter": ("evening-peak", "bottleneck.differentiation.kind=none"),
    "cake": ("dual-host", "bottleneck.scheduler.kind=fifo"),
    "conex-policer": ("conex-audit", ""),
    "csfq": ("csfq-udp-flood", "bottleneck.aqm.kind=drop-tail"),
    "reno": ("two-rtts", ""),
    "sbrm-queue": ("sbrm", ""),
    "srtcm": (
        "three-colours",
        'users.tcp.ingress=[{ kind = "srtcm", rate = "5 Mb/s", burst = "30 kB", yellow = "mark" }]',
    ),
}
"""Scenarios that show a mechanism better than the shortest, and what they are compared with."""
MOST_PACKETS = 20e6
"""Of a run; above it the page names the command instead."""
PARAMETERS = '<section id="parameters">'
PLACES = (
    "bottleneck.aqm",
    "bottleneck.scheduler",
    "bottleneck.differentiation",
    "tcp.congestion_control",
)
PLAIN = {
    "bottleneck": ({"bottleneck.differentiation": "none"}, "bottleneck.aqm.kind=drop-tail"),
    "scheduler": ({"bottleneck.differentiation": "none"}, "bottleneck.scheduler.kind=fifo"),
    "differentiation": ({}, "bottleneck.differentiation.kind=none"),
}
"""By category, what else the base has beside a mechanism, and what it is compared with."""


def state_of(mechanism: Mechanism) -> tuple[str, str] | None:
    """A scenario's text with this mechanism, and what it is compared with; None if there is none.

    The scenario of its name, else the evening peak with it, else the shortest that has it.
    """
    name = mechanism["name"]
    own, against = BEST.get(name, (name, ""))
    if text := _runs_here(SCENARIOS / f"{own}.toml"):
        return text, against
    if state := _in_base(mechanism):
        return state
    return next(((text, "") for path in _scenarios_with(name) if (text := _runs_here(path))), None)


def _in_base(mechanism: Mechanism) -> tuple[str, str] | None:
    """A base with this mechanism, where it fits, and without it."""
    place, _, value = mechanism["usage"].partition(" = ")
    if place not in PLACES:
        return None
    beside, plain = PLAIN.get(mechanism["category"], ({}, "tcp.congestion_control=reno"))
    settings = {place: tomllib.loads(f"value = {value}")["value"]} | beside
    for base in (BASE, OTHER_BASES.get(mechanism["category"], BASE)):
        try:
            scenario = tidegate.load_scenario(SCENARIOS / f"{base}.toml", set=settings)
        except TidegateError:
            continue
        if not scenario.warnings():
            return scenario.to_toml(), plain if _is_another(scenario, plain) else ""
    return None


def _is_another(scenario: Scenario, against: str) -> bool:
    """Whether what a scenario is compared with is valid, and not the scenario itself."""
    try:
        other = parse(scenario.to_toml(), [tuple(against.split("=", 1))])
    except TidegateError:
        return False
    return other.to_toml() != scenario.to_toml()


def _runs_here(path: Path) -> str | None:
    """The text of a scenario, if there is one and a page can run it."""
    if not path.is_file():
        return None
    scenario = tidegate.load_scenario(path)
    busy = sum(link["rate_bps"] for link in scenario.plan()["links"] if link["monitored"])
    packets = busy * (scenario.warm_up_s + scenario.duration_s) / (8 * 1500)
    return page_text(path, scenario) if packets <= MOST_PACKETS else None


def _scenarios_with(name: str) -> list[Path]:
    """The shipped scenarios that have this mechanism, the shortest first."""
    value, key = re.escape(name), re.escape(name.replace("-", "_"))
    pattern = re.compile(rf'"{value}"|\b{key}\s*=')
    found = [(len(text), path) for path, text in _texts().items() if pattern.search(text)]
    return [path for _, path in sorted(found)]


@cache
def _texts() -> dict[Path, str]:
    """The shipped scenarios without comments, by path."""
    comments = re.compile(r"^\s*#.*$", re.MULTILINE)
    return {
        path: comments.sub("", path.read_text(encoding="utf-8"))
        for path in SCENARIOS.glob("*.toml")
    }


def section(mechanism: Mechanism, place: str) -> str:
    """The part of a page that runs a mechanism's scenario, as HTML; nothing if there is none."""
    state = state_of(mechanism)
    if state is None:
        return ""
    address = escape(place + fragment(*state))
    title = escape(mechanism["title"])
    return (
        '<section id="try-it"><h2>Try it<a class="headerlink" href="#try-it">¶</a></h2>'
        '<details class="try-it"><summary>Run it here, in your browser</summary>'
        f'<iframe loading="lazy" title="The simulator with {title}" src="{address}"></iframe>'
        f'</details><p><a href="{address}">Open it in a page of its own</a>.</p></section>'
    )


def setup(app: Sphinx) -> None:
    """Add the parts to the pages, and the simulator to the site."""
    app.add_config_value("try_it", default=False, rebuild="html", types=[bool])
    app.connect("html-page-context", _add)
    app.connect("build-finished", _copy)


def _add(app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    if not app.config.try_it or not page.startswith("docs/mechanisms/") or "body" not in context:
        return
    named = {mechanism["name"]: mechanism for mechanism in tidegate.list_mechanisms()}
    mechanism = named.get(page.rpartition("/")[2])
    if mechanism and PARAMETERS in context["body"]:
        part = section(mechanism, "../../" + EXPLORER)
        context["body"] = context["body"].replace(PARAMETERS, part + PARAMETERS, 1)


def _copy(app: Sphinx, error: Exception | None) -> None:
    if app.config.try_it and error is None:
        shutil.copyfile(PAGE, Path(app.outdir) / EXPLORER)
