"""What pages of the analysis say is so, and a page that says what is not stops the build."""

import importlib.util

import pytest
from support import ROOT

spec = importlib.util.spec_from_file_location("computed", ROOT / "docs/computed.py")
computed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(computed)


@pytest.mark.parametrize("page", computed.pages(), ids=lambda page: page.stem)
def test_what_a_page_says_is_what_comes_out(page):
    assert computed.check(page) > 0


@pytest.mark.parametrize(
    ("line", "so"),
    [
        ("1.76 / 1  # 1.76: margin", True),
        ("1.764  # 1.76: margin", True),
        ("1.77  # 1.76: margin", False),
        ("(1, 2.5)  # 1, 2.5", True),
        ("(1, 2.5)  # 1, 2.6", False),
        ("[2, 2]  # 2: each", True),
        ("[2, 3]  # 2: each", False),
        ("(1 / 3, 2 / 3)  # 1/3, 2/3", True),
        ("1 / 3 + 1e-5  # 1/3", False),
        ("1234.4  # 1,234 packets", True),
        ("4.8e-4  # 0.00048", True),
        ("1 < 2  # True", True),
        ("1 > 2  # True", False),
        ('"red"  # "red": of RED', True),
        ('"red"  # "pie"', False),
        ("5  # what it takes", True),
    ],
)
def test_numbers_are_compared_to_the_digits_that_are_printed(tmp_path, line, so):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```python\n{line}\n```\n")
    if so:
        computed.check(page)
        return
    with pytest.raises(computed.NoLongerTrueError, match=r"page\.md"):
        computed.check(page)
