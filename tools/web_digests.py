"""`make web-digests`: every shipped scenario in WebAssembly and natively, with the same digest.

Ends with 1 where two digests differ, and with 77 where something is missing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.exploring import page_text
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from tidegate._native import Scenario

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "target" / "wasm32-unknown-unknown" / "web" / "tidegate_web.wasm"


def main() -> int:
    """Compare the scenarios that are named, or all; return the exit code."""
    build = [sys.executable, ROOT / "tools" / "page.py", "engine"]
    built = subprocess.run(build, check=False)  # noqa: S603
    if built.returncode:
        return built.returncode
    named = [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "scenarios").glob("*.toml"))
    scenarios = {file: load_scenario(file) for file in named}
    # What only kernels have is not simulated anywhere.
    scenarios = {file: one for file, one in scenarios.items() if not one.simulator_lacks()}
    with tempfile.TemporaryDirectory(prefix="tidegate-web-") as folder:
        files = []
        for number, (file, scenario) in enumerate(scenarios.items()):
            files.append(Path(folder) / f"{number}.toml")
            files[-1].write_text(page_text(file, scenario))
        return compare(scenarios, files)


def compare(scenarios: dict[Path, Scenario], files: list[Path]) -> int:
    """Run files of the scenarios in node, and the scenarios natively; return the exit code."""
    command = ["node", ROOT / "web" / "digests.mjs", ENGINE, *files]
    same = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as node:  # noqa: S603
        for line, (file, scenario) in zip(node.stdout or [], scenarios.items(), strict=False):
            web = line.split("\t")[0]
            (native,) = scenario.run(scenario.seed)["run"]["digest"]
            same += web == native
            said = "same" if web == native else f"NOT the same: {web} in WebAssembly,"
            say(f"{said} {native} {file.name}")
    say(f"{same} of {len(scenarios)} scenarios have the same digest")
    return int(node.returncode != 0 or same < len(scenarios))


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
