"""What is measured has one definition, which is told everywhere and holds in any window."""

import re
from pathlib import Path

import numpy as np
import pytest

import tidegate
from tidegate.results.quantities import DEFINITIONS, drop_ratio, flow_ratios
from tidegate.results.summary import bottlenecks

PAGE = Path(__file__).parent.parent / "docs/results.md"

CROWDED = """
version = 1
warm_up = "2 s"
duration = "{duration}"
[bottleneck]
rate = "10 Mb/s"
delay = "10 ms"
[users.a]
flows = 10000
[users.b]
traffic = {{ kind = "cbr", rate = "5 Mb/s" }}
"""


def test_the_page_on_results_has_the_definitions_word_for_word():
    text = " ".join(PAGE.read_text().split())
    for one in DEFINITIONS:
        formula = f": `{one.made_of}`" if one.made_of else ""
        line = f"| {one.word} | `{one.metric}` | {one.meaning}{formula} |"
        assert line in text, f"docs/results.md lacks\n{line}"


@pytest.mark.parametrize("duration", ["1 ms", "50 ms", "3 s"])
def test_a_crowded_link_loses_no_more_than_there_is(duration):
    """Most packets are connection requests there, and many lost ones were sent before."""
    result = tidegate.simulate(CROWDED.format(duration=duration), seed=1)
    for row in result.groups.to_pylist():
        for name in ("loss_ratio", "retransmit_ratio", "mark_ratio"):
            assert row[name] is None or 0 <= row[name] <= 1, (name, row)
    (dropped,) = bottlenecks(result.links)["drop_ratio"].to_pylist()
    assert dropped is None or 0 <= dropped <= 1
    if duration == "3 s":
        lost = [row["loss_ratio"] for row in result.groups.to_pylist()]
        assert min(lost) < dropped < max(lost), "one link drops what all flows lose"


def test_ratios_by_hand():
    counts = {"losses": 3, "packets_delivered": 9, "marks": 6, "retransmits": 2, "packets_sent": 10}
    found = flow_ratios(lambda name: np.array([counts[name]]))
    assert {name: value[0] for name, value in found.items()} == pytest.approx(
        {"loss_ratio": 0.25, "mark_ratio": 2 / 3, "retransmit_ratio": 0.2}
    )
    link = {"drops_full": 1, "drops_aqm": 2, "drops_wire": 3, "drops_policer": 4, "departures": 13}
    assert drop_ratio(link.get) == pytest.approx(0.5)
    link = {"drops_full": 0, "drops_aqm": 0, "drops_wire": 1, "departures": 0}
    assert drop_ratio(link.get) == 1.0, "it had left before, and was lost on the wire"


def test_the_shares_on_the_screen_say_of_what(tidegate_command):
    out = tidegate_command("simulate", "small.toml", "--no-save").stdout
    headings = re.search(r"per user.*", out)[0]
    assert "lost" in headings
    legend = (
        "lost: of the packets that arrived or were lost; retransmitted: of those sent; dropped: of"
    )
    assert legend in out
    assert "marked:" not in out, "no column of that name is shown"
