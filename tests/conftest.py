import pytest
from support import SMALL, SWEEP, Command


@pytest.fixture
def tidegate_command(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return Command(tmp_path)
