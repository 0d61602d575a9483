"""Each mechanism's page in the site runs it."""

import importlib.util
import re
from pathlib import Path

import pytest

import tidegate
from tidegate.scenarios.reading import parse

SPEC = importlib.util.spec_from_file_location("try_it", Path("docs/try_it.py").resolve())
try_it = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(try_it)


@pytest.mark.parametrize("mechanism", tidegate.list_mechanisms(), ids=lambda own: own["name"])
def test_each_mechanism_has_a_scenario_that_a_page_can_run(mechanism):
    text, against = try_it.state_of(mechanism)
    pairs = [tuple(against.split("=", 1))] if against else []
    for settings in ([], pairs):
        parse(text, settings)  # Refuses files: a text has no folder.
    # A meter's key is its name's last word; others are named.
    name = mechanism["name"].removeprefix("activity-")
    *_, value = re.findall(r'"([^"]+)"', mechanism["usage"])
    assert name in text + against or value in text


def test_the_part_of_a_page_opens_the_simulator_lazily():
    (pie,) = (own for own in tidegate.list_mechanisms() if own["name"] == "pie")
    part = try_it.section(pie, "../../explore.html")
    assert '<iframe loading="lazy"' in part
    assert part.count("../../explore.html#s=") == 2
