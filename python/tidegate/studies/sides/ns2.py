"""The side `ns2`: dumbbells with greedy flows and transfers in ns-2 (Debian package ns2, 2.35).

A scenario is written as `bench/ns2_dumbbell.tcl` of the checkout reads it. ns-2 counts on its own,
so that its metrics have the names of the study's but are not read from tables.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tidegate.data import data_folder
from tidegate.errors import MissingError
from tidegate.results.statistics import Estimate, estimate
from tidegate.runs.progress import shown
from tidegate.studies.runner import native_engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.runs.simulation import Showing
    from tidegate.studies.factors import Setting
    from tidegate.studies.metrics import Measures

_AGENTS = {"sack": "Sack1", "newreno": "Newreno", "reno": "Reno"}


def measure(
    settings: Sequence[Setting], _measures: Measures, *, jobs: int, progress: Showing
) -> Iterator[tuple[int, dict[str, Estimate], dict[str, str]]]:
    """Give the metrics of each setting, by its place, with the least and the most of any seed."""
    program = shutil.which("ns")
    script = data_folder("studies").parent / "bench/ns2_dumbbell.tcl"
    if program is None or not script.is_file():
        raise MissingError(["ns-2: apt-get install ns2, and a checkout of tidegate"])
    with shown(progress, "scenarios") as tell, ThreadPoolExecutor(max(1, jobs)) as pool:
        for number, setting in enumerate(settings):
            tell(number, len(settings))
            scenario: Any = native_engine(setting.base, setting.overrides)
            plan = scenario.plan()
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "scenario.tcl"
                file.write_text(variables(plan), encoding="utf-8")
                commands = [
                    [program, str(script), str(file), str(seed)]
                    for seed in range(1, scenario.replications + 1)
                ]
                runs = [numbers(plan, each) for each in pool.map(_output, commands)]
            yield number, _estimates(runs), {}


def _output(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    counts: dict[str, Any] = json.loads(lines[-1])
    return counts


def _estimates(runs: Sequence[dict[str, float]]) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for name in runs[0]:
        values = [run[name] for run in runs]
        ends = {f"{name}_least": Estimate(min(values)), f"{name}_most": Estimate(max(values))}
        found |= {name: estimate(values), **ends}
    return found


def variables(plan: dict[str, Any]) -> str:
    """The scenario as the script reads it."""
    link = _bottleneck(plan)
    flow, red = plan["flows"][0], link["aqm"] if link["aqm"]["kind"] == "red" else None
    keys = ("min_threshold_packets", "max_threshold_packets", "max_probability", "weight")
    variables = {
        "rate_bps": link["rate_bps"],
        "delay_s": link["delay_s"],
        # ns-2's RED does not count the packet in transmission.
        "buffer_packets": link["buffer_packets"] - (red is not None),
        "warm_up_s": plan["warm_up_s"],
        "end_s": plan["warm_up_s"] + plan["duration_s"],
        "packet_bytes": flow["packet_size_bytes"],
        "initial_window": flow["tcp"]["initial_window"],
        "jitter_s": flow["host_jitter_s"],
        "ecn": int(_ecn(plan)),
        "red": _list(red[key] for key in keys) if red else "{}",
        "groups": _list(_groups(plan)),
    }
    return "".join(f"set {name} {value}\n" for name, value in variables.items())


def _groups(plan: dict[str, Any]) -> Iterator[str]:
    """What the script wants to know of each group of users."""
    links, owners = plan["links"], plan["user_groups"]
    for group in range(len(plan["groups"])):
        flows = [flow for flow in plan["flows"] if owners[flow["user"]] == group]
        first, users = flows[0], owners.count(group)
        payload = first["packet_size_bytes"] - 40
        yield _list([
            users,
            len(flows) // users,
            _AGENTS[first["tcp"]["loss_recovery"]],
            links[first["forward"][0]]["delay_s"],
            links[first["forward"][-1]]["delay_s"],
            first["start_from_s"],
            first["start_to_s"],
            -(-first["traffic"].get("size_bytes", 0) // payload),
            first["tcp"]["delayed_ack_s"] or 0,
        ])  # fmt: skip


def _list(parts: Any) -> str:  # noqa: ANN401 - whatever Tcl writes as it is
    return "{" + " ".join(map(str, parts)) + "}"


def _bottleneck(plan: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(link for link in plan["links"] if link["monitored"])
    return found


def _ecn(plan: dict[str, Any]) -> bool:
    return any(flow["tcp"]["ecn"] for flow in plan["flows"])


def numbers(plan: dict[str, Any], counts: dict[str, Any]) -> dict[str, float]:
    """The metrics of a run: what was counted from the end of the warm-up on."""
    after, before, seconds = counts["after"], counts["before"], plan["duration_s"]
    pairs = list(zip(after["flows"], before["flows"], strict=True))
    acked, sent, again, timeouts = (
        [late[column] - early[column] for late, early in pairs] for column in range(1, 5)
    )
    counted = {key: after[key] - before[key] for key in after if key != "flows"}
    done = [late[5] for late, _ in pairs if late[5] >= 0]
    owners = plan["user_groups"]
    greedy = [flow for flow in plan["flows"] if flow["traffic"]["kind"] == "greedy"]
    endless = {owners[flow["user"]] for flow in greedy}
    bits = 8 * plan["flows"][0]["packet_size_bytes"]
    found = {
        "waiting_packets": counted["waiting_packet_s"] / seconds,
        "loss_percent": 100 * counted["drops"] / counted["arrivals"],
        "sent_again_percent": 100 * sum(again) / sum(sent),
    }
    if endless:
        found["goodput_mbps"] = sum(acked) * bits / seconds / 1e6
    if _ecn(plan):
        found["marks_percent"] = 100 * counted["marks"] / counted["arrivals"]
    else:
        # ns-2 does not count a timeout that follows a mark (`nrexmit_`).
        found["timeouts_per_flow"] = fmean(timeouts)
    if len(endless) > 1:
        of = [
            sum(n for n, (late, _) in zip(acked, pairs, strict=True) if late[0] == group)
            / owners.count(group)
            for group in (0, 1)
        ]
        found["goodput_ratio"] = of[0] / of[1]
    return found | ({"completion_s": fmean(done)} if done else {})
