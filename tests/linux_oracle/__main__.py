"""``python -m linux_oracle``: compare, keep the numbers, write the page."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from linux_oracle import adaptive_red, closed_loop, codel, fq_codel, ours, page, pie, red
from linux_oracle.kernel import Kernel
from tidegate.errors import TidegateError, UsageError
from tidegate.results.store import hand_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from linux_oracle.comparison import Comparison

COMPARISONS: dict[str, Callable[..., Comparison]] = {
    "red": red.compare,
    "red-ecn": red.compare_ecn,
    "red-idle": red.compare_idle,
    "adaptive-red": adaptive_red.compare,
    "codel": codel.compare,
    "codel-ecn": codel.compare_ecn,
    "pie": pie.compare,
    "fq-codel": fq_codel.compare,
    "fq-codel-overflow": fq_codel.compare_overflow,
    "tcp": closed_loop.compare,
}


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code: 1 where something is out of its bound."""
    given = _parser().parse_args(arguments)
    try:
        if unknown := set(given.only) - COMPARISONS.keys():
            raise UsageError(
                f"--only: {', '.join(sorted(unknown))} is none of {', '.join(COMPARISONS)}"
            )
        kept = page.read(given.root)
        missed = 0
        if not given.report:
            kernel = Kernel(given.root)
            ours.build(given.root)
            for name in given.only or COMPARISONS:
                started = time.monotonic()
                found = COMPARISONS[name](kernel, given.root, quick=given.quick)
                missed += sum(not check.held for check in found.checks)
                print(page.in_words(found), f"  {time.monotonic() - started:.0f} s", sep="\n")  # noqa: T201
                kept.add(found, kernel.version)
        if not given.quick:
            for path in page.write(given.root, kept, COMPARISONS):
                hand_over(path)
                print(f"wrote {path}")  # noqa: T201
    except TidegateError as error:
        print(f"oracle: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m linux_oracle",
        description="Linux's queue disciplines and ours.",
    )
    add = parser.add_argument
    add("--root", type=Path, default=Path(), metavar="DIR", help="the checkout")
    add("--only", action="append", default=[], metavar="NAME", help="this comparison (repeatable)")
    add("--quick", action="store_true", help="fewer packets; print, keep nothing")
    add("--report", action="store_true", help="only write the page anew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
