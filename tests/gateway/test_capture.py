"""What was seen as a scenario: the command that simulates reads what the gateway writes."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.box import Box, lacking, needing

pytestmark = needing(lacking())


def test_a_capture_is_a_scenario_without_addresses(
    tidegate_command: Callable[..., Any], tmp_path: Path
) -> None:
    captured = tmp_path / "tonight.toml"
    with Box() as box:
        nothing = box.gateway_streams("capture", "--seconds", "1")
        box.shape("u0", 20)
        with box.control_loop("observe"), box.duel(12):
            box.gateway("capture", "--seconds", "8", "--output", str(captured))
            other = box.gateway_streams("capture", "--seconds", "1", "--output", "/nowhere/x.toml")
    assert (nothing.returncode, "observe eth1 --uplink eth0" in nothing.stderr) == (1, True)
    assert (other.returncode, "/nowhere/x.toml: " in other.stderr) == (1, True)
    text = captured.read_text()
    assert "10.1.0" not in text
    scenario = tomllib.loads(text)
    rate = float(scenario["bottleneck"]["rate"].removesuffix(" Mb/s"))
    assert 16 < rate < 24, text
    greedy = {name: user for name, user in scenario["users"].items() if "flows" in user}
    # The customer with ten flows has more of them than the one with one.
    assert sum(user["count"] for user in scenario["users"].values()) == 2, text
    if len(greedy) == 2:
        light, heavy = sorted(user["flows"] for user in greedy.values())
        assert (light, heavy > 2) == (1, True), text
    assert tidegate_command("validate", str(captured)).returncode == 0
    words = ["--set", "warm_up=1 s", "--set", "duration=2 s", "-r", "1"]
    simulated = tidegate_command("simulate", str(captured), *words)
    assert simulated.returncode == 0, simulated
    # The file's variants: with ABC, and as it was seen.
    assert "without" in simulated.stdout
