"""Where the papers' folders are."""

from __future__ import annotations

import os
from pathlib import Path

from tidegate.studies.papers.errors import ReproductionError

PAPER_FILE = "paper.toml"
_ENVIRONMENT = "TIDEGATE_PAPERS"


def papers_dir() -> Path:
    """Give the folder `papers/` of the checkout, or the one that TIDEGATE_PAPERS names."""
    named = os.environ.get(_ENVIRONMENT)
    folder = Path(named) if named else Path(__file__).parents[4] / "papers"
    if not folder.is_dir():
        raise ReproductionError(
            f"no folder {folder}: the papers' data are in the source repository; "
            f"set {_ENVIRONMENT} to its folder `papers`"
        )
    return folder


def paper_names() -> list[str]:
    """All papers that can be reproduced."""
    return sorted(file.parent.name for file in papers_dir().glob(f"*/{PAPER_FILE}"))
