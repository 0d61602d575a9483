"""``python -m tidegate.studies.stability``: simulate, keep the results, write the pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidegate.errors import TidegateError
from tidegate.runs.execution import Threads
from tidegate.runs.progress import shown
from tidegate.studies import running
from tidegate.studies.running import Trial
from tidegate.studies.stability import (
    abc_figure,
    abc_page,
    abc_tcp,
    aicp,
    cases,
    conex,
    figures,
    mixed,
    page,
    verdicts,
)

_RUNS = 3


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tidegate.studies.stability")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout")
    parser.add_argument("--page", action="store_true", help="write the page from what is kept")
    given = parser.parse_args(arguments)
    try:
        if not given.page:
            simulate(given.root)
            abc_tcp.simulate(given.root)
            aicp.simulate(given.root)
            mixed.simulate(given.root)
            conex.simulate(given.root)
        found = verdicts.read(given.root / page.RESULTS)
        figures.draw_maps(given.root / page.MAPS)
        figures.draw_verdicts(found, given.root / page.VERDICTS)
        page.write(given.root, found)
        conex.draw(given.root)
        abc_figure.draw(given.root / abc_page.MAPS)
        abc_page.write(given.root)
    except TidegateError as error:
        sys.stderr.write(f"stability: {error}\n")
        return error.exit_code
    return 0


def simulate(root: Path) -> None:
    """Simulate all cases and keep what they measured."""
    found = cases.read(root)
    seeds = range(1, _RUNS + 1)
    trials = [Trial(scenario, seeds, verdicts.of_run) for scenario in found.values()]
    with shown(True, "stability") as tell:
        runs = running.simulate(trials, Threads(), tell)
    verdicts.write(root / page.RESULTS, dict(zip(found, runs, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
