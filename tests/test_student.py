"""Student's t, which tidegate computes without SciPy."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit
from support import COMMAND, TINY

from tidegate.results.student import t_quantile975


@given(st.floats(1, 1e6))
def test_it_is_scipys(freedom: float) -> None:
    assert t_quantile975(freedom) == pytest.approx(float(stdtrit(freedom, 0.975)), rel=1e-9)


@pytest.mark.parametrize(("freedom", "value"), [(1, 12.706), (2, 4.303), (19, 2.093), (120, 1.980)])
def test_it_is_the_tables(freedom: int, value: float) -> None:
    assert round(t_quantile975(freedom), 3) == value


def test_a_simulation_does_without_scipy_and_matplotlib(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(TINY, encoding="utf-8")
    words = [sys.executable, "-X", "importtime", COMMAND, "simulate", path, "-r", "3"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "pyarrow" in imported
    assert not imported & {"scipy", "matplotlib"}
