"""Where the simulator's time goes, by function as written, inlined ones included.

    python3 bench/hot_spots.py [SCENARIO.toml [--time 1000] ...]     arguments of tidegate-bench

The optimiser puts most of the engine into a handful of functions, so a profile by symbol says
little. This one asks the debugging information for the innermost line of ours at each sample.
Needs `perf`, `readelf` and `addr2line`.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/tidegate-bench"
DEFAULT = [str(ROOT / "scenarios/s1-dumbbell.toml"), "--time", "2000"]
ROWS = 25


def output_of(*command: str, feed: str | None = None) -> str:
    """Standard output of a command."""
    quiet = subprocess.DEVNULL
    done = subprocess.run(
        command, input=feed, stdout=subprocess.PIPE, stderr=quiet, text=True, check=True
    )
    return done.stdout


def samples(arguments: list[str]) -> Counter[int]:
    """Record a run; samples by address in the program's file (as addr2line counts)."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        output_of("perf", "record", "-q", "-F", "4000", "-o", data, str(PROGRAM), *arguments)
        script = output_of("perf", "script", "-i", data, "-F", "ip", "--show-mmap-events")
    mapping = re.search(r"\[(0x\w+)\((0x\w+)\) @ (0x\w+|0) .* r-xp .*tidegate-bench", script)
    if mapping is None:
        raise RuntimeError("perf has not seen the program start")
    start, length, offset = (int(number, 16) for number in mapping.groups())
    virtual = virtual_address(offset)
    found: Counter[int] = Counter()
    for line in re.findall(r"(?m)^\s+([0-9a-f]+)\s*$", script):
        address = int(line, 16) - start
        if 0 <= address < length:
            found[address + virtual] += 1
    return found


def virtual_address(file_offset: int) -> int:
    """Where the linker meant the mapped part of the file to be."""
    for line in output_of("readelf", "-lW", str(PROGRAM)).splitlines():
        segment = re.match(r"\s+LOAD\s+(0x\w+) (0x\w+) .* R E ", line)
        if segment:
            return int(segment[2], 16) - int(segment[1], 16) + file_offset
    raise RuntimeError("the program has no executable segment")


def functions(found: Counter[int]) -> Counter[str]:
    """Samples by innermost function and file of ours."""
    listed = list(found.items())
    feed = "".join(f"{address:#x}\n" for address, _ in listed)
    text = output_of("addr2line", "-a", "-f", "-i", "-C", "-e", str(PROGRAM), feed=feed)
    by_function: Counter[str] = Counter()
    for (_, count), block in zip(listed, re.split(r"(?m)^0x\w+\n", text)[1:], strict=True):
        lines = block.splitlines()
        frames = zip(lines[::2], lines[1::2], strict=True)
        for function, place in frames:
            if "crates/" in place:
                file = place.rpartition("crates/")[2].partition(":")[0]
                by_function[f"{short(function):30} {file}"] += count
                break
        else:
            by_function[lines[0]] += count
    return by_function


def short(function: str) -> str:
    """Strip the path and the type parameters of a function's name.

    >>> short("tidegate_simulator::ring::push<tidegate_simulator::packet::Packet>")
    'push'
    >>> short("offer<tidegate_simulator::network::{impl#0}::forward::{closure_env#0}>")
    'offer'
    """
    return function.partition("<")[0].rpartition("::")[2] or function


def main() -> int:
    """Record, attribute, print."""
    found = samples(sys.argv[1:] or DEFAULT)
    by_function = functions(found)
    for name, count in by_function.most_common(ROWS):
        print(f"{100 * count / found.total():5.1f} %  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
