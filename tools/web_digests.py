"""`make web-digests`: every shipped scenario in WebAssembly and natively, with the same digest.

Ten of them run on arm64 as well, where qemu-user and Rust's target for it are installed. Ends with
1 where two digests differ, and with 77 where something is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tidegate.exploring import page_text
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from tidegate._native import Scenario

ROOT = Path(__file__).resolve().parents[1]
ARM64 = "aarch64-unknown-linux-musl"
EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
FEW = 10
"""Scenarios that run on arm64, those that take the least time: it is emulated."""
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
        natives = {
            file: Native.of(scenario)
            for file, scenario in zip(files, scenarios.values(), strict=True)
        }
        names = dict(zip(files, [file.name for file in scenarios], strict=True))
        return max(compare(natives, names), compare_arm64(natives, names))


class Native(NamedTuple):
    """What a run here has: it is compared with others in this order."""

    events: int
    digest: str

    @classmethod
    def of(cls, scenario: Scenario) -> Native:
        """Run a scenario with its first seed."""
        run = scenario.run(scenario.seed)["run"]
        return cls(run["events"][0], run["digest"][0])


def compare(natives: dict[Path, Native], names: dict[Path, str]) -> int:
    """Run files in node; return the exit code."""
    command = ["node", ROOT / "web" / "digests.mjs", ENGINE, *natives]
    same = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as node:  # noqa: S603
        for line, file in zip(node.stdout or [], natives, strict=False):
            same += judged(line.split("\t")[0], natives[file], names[file], "in WebAssembly")
    say(f"{same} of {len(natives)} scenarios have the same digest")
    return int(node.returncode != 0 or same < len(natives))


def judged(digest: str, native: Native, name: str, where: str) -> bool:
    """Print whether a digest is that of the run here, and return it."""
    same = digest == native.digest
    say(f"{'same' if same else f'NOT the same: {digest} {where},'} {native.digest} {name}")
    return same


def compare_arm64(natives: dict[Path, Native], names: dict[Path, str]) -> int:
    """Run the shortest files on an emulated arm64; return the exit code."""
    emulator = next((found for name in EMULATORS if (found := shutil.which(name))), None)
    targets = subprocess.run(
        ["rustup", "target", "list", "--installed"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    lacking = [
        *["qemu-user-static"] * (emulator is None),
        *[f"rustup target add {ARM64}"] * (ARM64 not in targets.stdout),
    ]
    if lacking or emulator is None:
        say(f"without arm64, which takes: {', '.join(lacking)}")
        return 0
    # Rust's own linker and libc: no compiler for arm64 is needed.
    linker = {f"CARGO_TARGET_{ARM64.upper().replace('-', '_')}_LINKER": "rust-lld"}
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "tidegate-bench"]
    subprocess.run(  # noqa: S603
        [*build, "--target", ARM64], check=True, cwd=ROOT, env=os.environ | linker
    )
    program = ROOT / "target" / ARM64 / "release" / "tidegate-bench"
    same = 0
    chosen = sorted(natives, key=lambda file: natives[file])[:FEW]
    for file in chosen:
        done = subprocess.run(  # noqa: S603
            [emulator, program, file, "--digest"], capture_output=True, text=True, check=True
        )
        same += judged(done.stdout.strip(), natives[file], names[file], "on arm64")
    say(f"{same} of {len(chosen)} scenarios have the same digest on arm64")
    return int(same < len(chosen))


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
