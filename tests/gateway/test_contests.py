"""Customers with other senders, and with weights: the bars of `make gateway-bars`."""

from gateway.bars import contests
from gateway.box import lacking, needing

pytestmark = needing(lacking())


def test_bbr_datagrams_and_weights_are_within_their_bars() -> None:
    rows = list(contests(10))
    # Without BBR in the kernel there are two.
    assert len(rows) in (2, 3)
    assert all(row.holds for row in rows), [row.line() for row in rows]
