"""What S1 is measured beside, besides ns-2: htsim, and our engine as WebAssembly in node."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import child

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "target/wasm32-unknown-unknown/web/tidegate_web.wasm"
HTSIM = ROOT / "target/htsim"
"""A copy of htsim's source, which is built there."""


@dataclass(frozen=True)
class Other:
    """A program that simulates S1 for a time and prints the packets as JSON."""

    name: str
    command: tuple[str, ...]

    def run(self, time_s: float) -> child.Outcome:
        """Run it once; a program that knows its peak memory reports it."""
        outcome = child.run([*self.command, f"{time_s:g}"])
        memory = outcome.result.get("peak_rss_mib", outcome.peak_rss_mib)
        return child.Outcome(outcome.cpu_s, memory, outcome.result)


def others(htsim: Path | None, scenario: Path, say: Callable[[str], None]) -> Iterator[Other]:
    """Return those that are installed; call `say` with what the others lack."""
    if htsim is None:
        say("htsim: not measured; --htsim DIR is the path of its source (Broadcom/csg-htsim)")
    else:
        yield Other("htsim", (str(_built(htsim)),))
    if shutil.which("node") is None:
        say("wasm: not measured; node is not installed (apt-get install nodejs)")
    elif not ENGINE.exists():
        say("wasm: not measured; `tools/page.py engine` builds its engine")
    else:
        script = Path(__file__).with_name("wasm.mjs")
        yield Other("wasm in node", ("node", str(script), str(ENGINE), str(scenario)))


def _built(source: Path) -> Path:
    """Build htsim and S1's program in a copy of its source."""
    sim = HTSIM / "sim"
    shutil.copytree(source / "sim", sim, dirs_exist_ok=True)
    program = HTSIM / "s1"
    code = Path(__file__).with_name("htsim.cpp")
    library = sim / "libhtsim.a"
    make = ["make", "--silent", "-C", str(sim), library.name]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    link = ["g++", "-std=c++11", "-O3", f"-I{sim}", str(code), str(library), "-o", str(program)]
    subprocess.run(link, check=True)
    return program
