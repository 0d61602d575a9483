import signal

import pytest
from command_server import Commands
from hypothesis import HealthCheck, settings
from support import SMALL, SWEEP, Command

# Examples may be slow on a busy machine; a failing one says how to repeat it.
settings.register_profile(
    "patient", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

# A shell's background jobs ignore it, and the commands that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


WAITING = {"controls", "gateway", "lab"}
"""Groups that wait for time to pass: those with congestion controls of our own, and others."""


def pytest_collection_modifyitems(items):
    """Begin with the groups that last longest, so that nothing waits for them in the end."""

    def waits(item):
        group = item.get_closest_marker("xdist_group")
        return group is not None and group.args[0] in WAITING

    items.sort(key=waits, reverse=True)


@pytest.fixture(scope="session")
def commands():
    server = Commands()
    yield server
    server.close()


@pytest.fixture
def tidegate_command(tmp_path, commands):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return Command(tmp_path, commands)
