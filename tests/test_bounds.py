"""What would take the memory or the day is refused before it begins, with the key."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from support import COMMAND, PATIENCE_S

import tidegate

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
version = 1
warm_up = "0 s"
duration = "1 s"
[bottleneck]
rate = "10 Mb/s"
[users.a]
flows = 1
"""


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 50_000) + " = 1\n",
        "[" + ".".join(["a"] * 50_000) + "]\n",
        "a = " + "[" * 100_000,
        "a = " + "{ a = " * 100_000,
        "\n".join(f"[{'.'.join(['a'] * 60)}.b{i}]" for i in range(1_000)),
        f"a.{'.'.join(['b'] * 79)} = {{ {'.'.join(['c'] * 79)} = [[1]] }}\n",
    ],
    ids=["key", "heading", "lists", "tables", "headings", "both"],
)
def test_deep_nesting_is_refused_within_bounded_memory(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -v 4000000; exec "{COMMAND}" validate "{path}"'],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


def test_overrides_are_counted_before_they_are_applied() -> None:
    with pytest.raises(tidegate.ScenarioError, match="500000 overrides; at most 10000"):
        tidegate.load_scenario(TEXT, set={f"users.a.k{i}": 1 for i in range(500_000)})
    nested: object = 1
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(tidegate.ScenarioError, match="nested too deeply"):
        tidegate.load_scenario(TEXT, set={"users.a.flows": nested})


def test_transfers_without_end_are_refused_before_the_run() -> None:
    traffic = {"kind": "short-flows", "size": "1 kB", "every": "1 ns"}
    with pytest.raises(tidegate.ScenarioError, match=r"users\.a\.traffic\.every: about 1\.0e9"):
        tidegate.simulate(TEXT, set={"users.a.traffic": traffic})


@pytest.mark.parametrize("name", ["n" * 201, "日" * 100])
def test_a_name_that_no_folder_could_have_is_refused(name: str) -> None:
    with pytest.raises(tidegate.ScenarioError, match=r"name: has .* bytes; at most 200"):
        tidegate.load_scenario(TEXT, set={"name": name})


def test_long_names_of_files_and_folders_are_no_surprise_after_the_run(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 240}.toml"
    path.write_text(TEXT, encoding="utf-8")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [COMMAND, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("simulate", path, "--plot")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    assert run("compare", folder, folder).returncode == 0
    for out in ("o" * 250, "o" * 300, f"{'o' * 300}/p"):
        done = run("simulate", path, "--out", out)
        assert (done.returncode, done.stdout) == (1, "")
        assert "cannot write" in done.stderr
        assert "Traceback" not in done.stderr
