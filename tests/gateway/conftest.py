"""A box for the tests that need no other than the plain one."""

from collections.abc import Iterator

import pytest

from gateway.box import Box


@pytest.fixture
def box() -> Iterator[Box]:
    """A routed gateway between two customers and a server."""
    with Box() as box:
        yield box
