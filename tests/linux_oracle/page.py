"""The numbers as they are kept, and the page that is made of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linux_oracle.kernel import GUEST
from tidegate.studies.page import filled, table, write_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from linux_oracle.comparison import Comparison

RESULTS = GUEST / "results.json"
PAGE = Path("docs/linux-oracle.md")
TEMPLATE = GUEST / "page.md"


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
    cases = json.loads(path.read_text("utf-8")) if path.is_file() else []
    return Kept({c["name"]: c for c in cases})


def write(root: Path, kept: Kept, order: Iterable[str]) -> list[Path]:
    """Write the numbers and the page."""
    comparisons = [kept.comparisons[name] for name in order if name in kept.comparisons]
    numbers = json.dumps(comparisons, indent=1, ensure_ascii=False)
    write_page(root / RESULTS, numbers + "\n")
    text = filled(root / TEMPLATE, parts(comparisons))
    return [root / RESULTS, write_page(root / PAGE, text)]


def parts(comparisons: list[dict[str, Any]]) -> dict[str, object]:
    """What the page tells of them."""
    checks = [check for comparison in comparisons for check in comparison["checks"]]
    return {
        "version": ", ".join(sorted({comparison["linux"] for comparison in comparisons})),
        "held": sum(check["held"] for check in checks),
        "count": len(checks),
        "sections": "\n\n".join(_section(comparison) for comparison in comparisons),
    }


def _section(comparison: dict[str, Any]) -> str:
    rows = [
        [c["what"], c["linux"], c["ours"], c["bound"], "held" if c["held"] else "**missed**"]
        for c in comparison["checks"]
    ]
    texts = [
        f"## {comparison['title']}",
        comparison["setup"] + ".",
        table(["what", "Linux", "ours", "bound", "verdict"], rows),
        *comparison["notes"],
    ]
    return "\n\n".join(texts)


def in_words(comparison: Comparison) -> str:
    """A comparison for a terminal."""
    lines = [f"{comparison.title}: {comparison.setup}"]
    for c in comparison.checks:
        verdict = "    " if c.held else "MISS"
        lines.append(f"  {verdict} {c.what}: Linux {c.linux}, ours {c.ours} ({c.bound})")
    return "\n".join([*lines, *comparison.notes])
