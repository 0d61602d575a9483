"""`make web-digests`: every shipped scenario in WebAssembly and natively, with the same digest.

Ends with 1 where two digests differ, and with 77 where something is missing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tidegate._native import Scenario

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "target" / "wasm32-unknown-unknown" / "web" / "tidegate_web.wasm"


def main() -> int:
    """Compare the scenarios that are named, or all; return the exit code."""
    build = [sys.executable, ROOT / "tools" / "page.py", "engine"]
    built = subprocess.run(build, check=False)  # noqa: S603
    if built.returncode:
        return built.returncode
    named = [Path(name) for name in sys.argv[1:]]
    files = [file for file in named or sorted((ROOT / "scenarios").glob("*.toml")) if runs(file)]
    command = ["node", ROOT / "web" / "digests.mjs", ENGINE, *files]
    differ = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as node:  # noqa: S603
        for line, file in zip(node.stdout or [], files, strict=False):
            web = line.split("\t")[0]
            native, native_s = digest(file)
            differ += web != native
            say(f"{'same' if web == native else f'NOT the same: {web} in WebAssembly,'} {native} "
                f"{file.name} ({native_s:.2f} s natively)")  # fmt: skip
    if node.returncode:
        return 1
    say(f"{len(files) - differ} of {len(files)} scenarios have the same digest")
    return int(differ > 0)


def runs(file: Path) -> bool:
    """Return whether the simulator has what the scenario asks for."""
    return not Scenario.parse(file.read_text()).simulator_lacks()


def digest(file: Path) -> tuple[str, float]:
    """Return the digest of a native run with the scenario's seed, and how long it took."""
    scenario = Scenario.parse(file.read_text())
    began = time.monotonic()
    (found,) = scenario.run(scenario.seed)["run"]["digest"]
    return found, time.monotonic() - began


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
