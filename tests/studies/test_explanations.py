"""The one form in which studies explain what deviates."""

from pathlib import Path

import pytest
from support import ROOT

from tidegate.errors import ResultError
from tidegate.studies.explanations import Explanation, StudyExplanation, read_explanations

FILES = sorted((ROOT / "studies").glob("**/explanations.toml"))


def written(file: Path) -> list[StudyExplanation]:
    return read_explanations(file, StudyExplanation)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.parent.relative_to(ROOT)))
def test_every_test_that_an_explanation_names_is_there(file):
    for one in written(file):
        if one.derived_in:
            module, _, name = one.derived_in.partition("::")
            assert f"def {name}(" in (ROOT / module).read_text(encoding="utf-8"), one.id
    assert len({one.id for one in written(file)}) == len(written(file))


def test_an_explanation_is_about_what_has_its_traits():
    one = Explanation(id="a", text="b", cells=[{"case": ["x", "y"], "n": {"max": 2}}])
    assert one.covers({"case": "x", "metric": "m", "n": 1})
    assert not one.covers({"case": "x", "metric": "m", "n": 3})
    assert not one.covers({"case": "z", "n": 1})


def test_a_error_names_the_file_and_the_key(tmp_path):
    file = tmp_path / "explanations.toml"
    assert read_explanations(file, Explanation) == []
    for text, want in (
        ('id = "a"\ntext = "b"\ncases = ["x"]', "'cases'"),
        ('id = "a"', "'text'"),
        ("id =", "line 2"),
    ):
        file.write_text(f"[[explanation]]\n{text}\n")
        with pytest.raises(ResultError, match=f"explanations.toml.*{want}"):
            read_explanations(file, Explanation)
