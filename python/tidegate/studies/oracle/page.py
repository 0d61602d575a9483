"""The numbers as they are kept, and the page that is made of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import ResultError
from tidegate.studies.oracle.kernel import GUEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.studies.oracle.comparison import Comparison

RESULTS = GUEST / "results.json"
PAGE = Path("docs/linux-oracle.md")
TEXT = """\
# Linux as an oracle

How close do our queue mechanisms come to those of the Linux kernel? Both get the very same
packets. The kernel is a real one, Linux {version}, run as an ordinary process in virtual time
(User-Mode Linux with time travel): nothing in it depends on the machine's speed, its link has
exactly the rate it should have, and every run can be repeated.
[`tools/linux-oracle`](../tools/linux-oracle/README.md) has the recipe.

This page is written by `make oracle` from what it measured
([`results.json`](../tools/linux-oracle/results.json)); nobody edits it.

**{held} of {count} numbers are within their bounds.**

## How it is done

Packets of four flows and four lengths, 64 to 1496 bytes, at random times from a fixed seed, are
sent into the discipline under test. It sits in front of a device whose transmitter takes one
packet at a time and is busy with it for as long as 10 Mb/s say; a shaper such as HTB in between
would hide from the discipline that it has run empty. For every packet it is recorded when it
arrived, whether it was lost or marked, and when its transmission began. Then our mechanism gets
the same arrivals.

* Where nothing is random (CoDel, FQ-CoDel), the two are compared *packet by packet*: our
  transmitter asks for a packet whenever the kernel's did, lest one packet's difference in length
  shift all that follow.
* Where verdicts are drawn (RED, PIE), ours *looks along* at the kernel's queue: it sees each
  arrival and departure there, is told what became of the packet, and says how likely a signal
  was. If it is right, the number of signals that happened differs from the sum of these
  probabilities by chance only: bounds of 3.5 standard deviations, which chance exceeds once in
  about 2,000 times.
* *Each on its own* (or with "the RFC's arithmetic"), only the arrivals are the same.
* At last TCP on both sides, the kernel's through its disciplines and the simulator's through ours.

The kernel's source is changed in three places that matter here: RED and PIE take their random
numbers from a seeded generator, so that runs repeat; its clock ticks 1000 times a second; and RED
can be made adaptive (see there).

{sections}"""


@dataclass
class Kept:
    """Everything that was compared, by name."""

    comparisons: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, comparison: Comparison, version: str) -> None:
        """Replace a comparison."""
        self.comparisons[comparison.name] = {**asdict(comparison), "linux": version}


def read(root: Path) -> Kept:
    """What is kept; nothing where there is no file."""
    path = root / RESULTS
    if not path.is_file():
        return Kept()
    try:
        return Kept({c["name"]: c for c in json.loads(path.read_text(encoding="utf-8"))})
    except (OSError, ValueError, KeyError) as error:
        raise ResultError(f"{path} cannot be read: {error}") from error


def write(root: Path, kept: Kept, order: Iterable[str]) -> list[Path]:
    """Write the numbers and the page."""
    comparisons = [kept.comparisons[name] for name in order if name in kept.comparisons]
    numbers = json.dumps(comparisons, indent=1, ensure_ascii=False)
    (root / RESULTS).write_text(numbers + "\n", encoding="utf-8")
    (root / PAGE).write_text(text(comparisons), encoding="utf-8")
    return [root / RESULTS, root / PAGE]


def text(comparisons: list[dict[str, Any]]) -> str:
    """The page."""
    checks = [check for comparison in comparisons for check in comparison["checks"]]
    return TEXT.format(
        version=", ".join(sorted({comparison["linux"] for comparison in comparisons})),
        held=sum(check["held"] for check in checks),
        count=len(checks),
        sections="\n".join(_section(comparison) for comparison in comparisons),
    )


def _section(comparison: dict[str, Any]) -> str:
    lines = [f"## {comparison['title']}", "", comparison["setup"] + ".", ""]
    lines += ["| what | Linux | ours | bound | |", "|---|---|---|---|---|"]
    for c in comparison["checks"]:
        verdict = "held" if c["held"] else "**missed**"
        lines.append(f"| {c['what']} | {c['linux']} | {c['ours']} | {c['bound']} | {verdict} |")
    for note in comparison["notes"]:
        lines += ["", note]
    return "\n".join(lines) + "\n"


def in_words(comparison: Comparison) -> str:
    """A comparison for a terminal."""
    lines = [f"{comparison.title}: {comparison.setup}"]
    for c in comparison.checks:
        verdict = "    " if c.held else "MISS"
        lines.append(f"  {verdict} {c.what}: Linux {c.linux}, ours {c.ours} ({c.bound})")
    return "\n".join([*lines, *comparison.notes])
