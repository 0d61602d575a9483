"""Customers with other senders, and with weights: the bars of `make gateway-bars`."""

import os

import pytest

from gateway.bars import contests
from gateway.box import lacking

LACKING = lacking()
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"no gateway here: {'; '.join(LACKING)}"),
    pytest.mark.skipif(
        "TIDEGATE_BARS" not in os.environ, reason="takes a minute: TIDEGATE_BARS=1, or gateway-bars"
    ),
    pytest.mark.xdist_group("gateway"),
]


def test_bbr_datagrams_and_weights_are_within_their_bars() -> None:
    rows = list(contests(10))
    # Without BBR in the kernel there are two.
    assert len(rows) in (2, 3)
    assert all(row.holds for row in rows), [row.line() for row in rows]
