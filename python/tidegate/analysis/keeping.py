"""A folder with what was computed: JSON, and a Parquet file for each table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ResultError
from tidegate.scenarios.reading import content_hash

if TYPE_CHECKING:
    from tidegate._native import Scenario
    from tidegate.analysis.analyse import Analysis


def default_folder(scenario: Scenario) -> Path:
    """`results/<name>-<hash>-analysis`: the same for the same content."""
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in scenario.name)
    return Path("results") / f"{safe}-{content_hash(scenario)[:8]}-analysis"


def keep(analysis: Analysis, folder: Path) -> None:
    """Write ``analysis.json`` and the tables, over older ones."""
    from pyarrow import parquet

    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(analysis.to_dict(), indent=2, ensure_ascii=False)
        (folder / "analysis.json").write_text(text + "\n", encoding="utf-8")
        (folder / "scenario.toml").write_text(analysis.scenario.to_toml(), encoding="utf-8")
        for name, table in analysis.tables.items():
            parquet.write_table(table, folder / f"{name}.parquet")
    except OSError as error:
        raise ResultError(f"cannot write to {folder}: {error.strerror}") from error
