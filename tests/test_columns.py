"""One schema says what result tables are made of; `UPDATE=1` writes its page anew."""

import os

import pytest
from support import ROOT, SMALL

import tidegate
from tidegate.results.columns import LAB, SUMMARY, TABLES, page, schema_of

PAGE = ROOT / "docs/result-tables.md"
PARTS = SMALL.replace('duration = "2 s"', 'intervals = { count = 2, length = "1 s" }')
STAGES = """
egress = [
  { kind = "mark-counter" },
  { kind = "conex-policer", fill_rate = "108 kb/s", depth = "13500 B" },
]
"""
COUNTED = PARTS.replace("[bottleneck]", f"[tcp]\nconex = 'per-signal'\n\n[bottleneck]{STAGES}")
TOLD = (
    COUNTED
    + """
[users.viewer]
traffic = { kind = "video", rate = "100 kb/s", length = "1 s" }
[users.caller]
traffic = { kind = "calls", rate = "100 kb/s", every = "1 s", holding = "1 s" }
[users.modeller]
tcp = { congestion_control = "bbr" }
"""
)


@pytest.fixture(scope="module")
def result():
    return tidegate.simulate(tidegate.load_scenario(TOLD), replications=2)


@pytest.mark.parametrize(
    "table", [t for t in TABLES if t not in (LAB, SUMMARY)], ids=lambda t: t.name
)
def test_a_result_has_just_the_columns_of_the_schema(result, table):
    assert result.tables[table.name].schema.equals(schema_of(table), check_metadata=True)


def test_so_has_its_summary(result):
    assert result.summary().schema.equals(schema_of(SUMMARY), check_metadata=True)


def test_a_name_is_the_same_thing_in_every_table():
    units = {}
    for table in TABLES:
        for column in table.columns:
            assert units.setdefault(column.name, column.unit) == column.unit, column.name


def test_the_page_tells_the_schema():
    if os.environ.get("UPDATE"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run UPDATE=1 pytest tests/test_columns.py"
