"""packetdrill's scripts on the page `docs/fidelity.md`."""

import json
from dataclasses import replace

from support import ROOT

from tidegate.studies.explanations import Explanation, read_explanations
from tidegate.studies.fidelity import packetdrill


def test_the_page_has_the_results_that_are_kept_and_every_other_script_is_explained():
    written = read_explanations(ROOT / "studies/fidelity/explanations.toml", Explanation)
    sections = packetdrill.parts(ROOT / "studies/fidelity", written)
    for section in sections.values():
        assert section.strip() in (ROOT / "docs/fidelity.md").read_text()
        assert "not explained yet" not in section
    assert sections["packetdrill-accurate-ecn"] == "**All 58 scripts pass.**"


def test_a_script_that_does_not_pass_has_its_line_and_the_reason_if_there_is_one(tmp_path):
    rows = [
        {"script": "a.pkt", "verdict": "passed", "line": None, "why": None},
        {"script": "b.pkt", "verdict": "failed", "line": 7, "why": "expected > S, but <..> | was"},
        {"script": "c.pkt", "verdict": "outside", "line": 1, "why": "resets"},
        {"script": "d.pkt", "verdict": "passed", "line": None, "why": None, "other_ticks": 250},
    ]
    results = tmp_path / "packetdrill.json"
    results.write_text(json.dumps(rows))
    older = Explanation(id="a", text="an older kernel", cells=[{"script": "b.pkt", "line": 7}])
    section = packetdrill.section(results, [older])
    assert section.startswith("**2 of 4 scripts pass.**")
    assert (
        "| `b.pkt` | failed | line 7: expected > S, but &lt;..> \\| was – an older kernel |"
        in section
    )
    assert "| `c.pkt` | outside | line 1: resets – not explained yet |" in section
    elsewhere = replace(older, cells=[{"script": "b.pkt", "line": 8}])
    assert "was – not explained yet" in packetdrill.section(results, [elsewhere])
    assert "| `d.pkt` | passed | with a clock of 250 ticks a second |" in section


def test_without_results_there_is_no_table(tmp_path):
    assert packetdrill.section(tmp_path / "none.json", []) == ""
