"""Stock kernels in virtual time: the oldest holds the programs by clsact, the newest by tcx."""

import pytest

from gateway.guests import lacking
from gateway.kernels import FAIR, UNFAIR, outcome
from tidegate.laboratory import guest

SERIES = [kernel.series for kernel in guest.kernels() if kernel.series in {"6.1", "6.12"}]
pytestmark = pytest.mark.skipif(
    bool(lacking()) or not SERIES, reason=f"not here: {'; '.join(lacking())}"
)


@pytest.mark.parametrize("series", SERIES or ["none"])
def test_observe_enforce_kill_restart_and_off_on_a_stock_kernel(series: str) -> None:
    found = outcome(series)
    assert found.held_by == ("clsact" if series == "6.1" else "tcx")
    assert found.touched == 0
    assert found.ratios[0] >= UNFAIR
    assert found.ratios[1] <= FAIR
    assert (found.lost_after_kill, found.passed_after_kill > 0) == (0, True)
    assert found.keeps_counts
    assert found.left == ""
