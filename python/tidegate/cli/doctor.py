"""`tidegate doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

import typer

from tidegate.cli.common import command, say

PACKAGES = ("numpy", "pyarrow", "scipy", "matplotlib", "typer", "rich")


@command
def doctor() -> None:
    """Check this installation.

    For example:

    tidegate doctor
    """
    findings = _findings()
    for name, text, state in findings:
        say(f"{state:<4}  {name:<12} {text}")
    if any(state is State.bad for _, _, state in findings):
        raise typer.Exit(1)


class State(StrEnum):
    """State of a component."""

    ok = "ok"
    bad = "BAD"
    """tidegate does not work without it."""
    none = "none"
    """It is missing, and optional."""


Finding: TypeAlias = tuple[str, str, State]


def _needed(good: bool) -> State:
    return State.ok if good else State.bad


def _optional(here: object) -> State:
    return State.ok if here else State.none


def _findings() -> list[Finding]:
    from tidegate import _native
    from tidegate.runs.execution import local_cores
    from tidegate.scenarios.reading import build_id

    installed = _version("tidegate")
    return [
        ("tidegate", f"{installed}, engine {_native.version()}, build {build_id()}",
         _needed(installed == _native.version())),
        ("python", f"{platform.python_version()} at {sys.executable}",
         _needed(sys.version_info >= (3, 11))),
        ("machine", f"{platform.system()} {platform.machine()}, {local_cores()} cores", State.ok),
        *[(name, _version(name) or "missing", _needed(bool(_version(name)))) for name in PACKAGES],
        _engine_works(),
        ("results", *_results()),
        ("ns-2", *_program(shutil.which("ns"), "only comparisons with ns-2 use it")),
        *_lab(),
    ]  # fmt: skip


def _results() -> tuple[str, State]:
    here = os.access(".", os.W_OK)
    folder = str(Path("results").resolve())
    return (folder, State.ok) if here else (f"{folder}, which cannot be written", State.bad)


def _program(place: str | None, use: str) -> tuple[str, State]:
    return place or f"not here ({use})", _optional(place)


def _lab() -> list[Finding]:
    """Check what only `tidegate lab` needs."""
    from tidegate.data import remedy
    from tidegate.laboratory import guest
    from tidegate.laboratory.process import PROGRAM, find_program, missing

    lacking, stock = missing(), [kernel.series for kernel in guest.kernels()]
    root, tun = os.geteuid() == 0, Path("/dev/net/tun")
    tools = {
        PROGRAM: f"the lab's own; {remedy('setup')}",
        "tidegate-bpf": f"congestion control in BPF; {remedy('setup', 'where clang is')}",
        "clang": "builds congestion control in BPF",
        guest.QEMU: "boots stock kernels for `tidegate lab --kernel`",
        "iperf3": "for `tidegate lab --generator iperf3`",
        "tshark": "shows the packets of a lab",
    }
    return [
        (
            "lab",
            f"cannot run; it lacks: {'; '.join(lacking)}" if lacking else "can run",
            _optional(not lacking),
        ),
        ("root", "yes" if root else "no (only `tidegate lab` needs it)", _optional(root)),
        ("TUN", *_program(str(tun) if tun.exists() else None, "only `tidegate lab` needs it")),
        *[(name, *_program(find_program(name), use)) for name, use in tools.items()],
        ("kernels", *_program(", ".join(stock), f"stock kernels; {guest.FETCH}")),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _engine_works() -> Finding:
    """Run a small scenario twice and compare the digests."""
    from tidegate._native import CHECKED
    from tidegate.errors import TidegateError
    from tidegate.runs.simulation import simulate

    scenario = {
        "version": 1, "warm_up": "0 s", "duration": "1 s",
        "bottleneck": {"rate": "10 Mb/s", "delay": "5 ms"}, "users": {"one": {}},
    }  # fmt: skip
    try:
        first, second = (simulate(scenario, replications=1).digests for _ in range(2))
    except TidegateError as error:
        return "engine", str(error), State.bad
    pace = "; compiled for tests, so runs take longer" if CHECKED else ""
    return "engine", f"runs; digest {first[0][1]}{pace}", _needed(first == second)
