"""No link of a page leads nowhere; `make docs` puts the same question to the built pages."""

import subprocess
import sys

import pytest
from support import ROOT

TOOL = ROOT / "tools/dead_links.py"


def check(*folder):
    return subprocess.run([sys.executable, TOOL, *folder], capture_output=True, text=True)


def test_no_markdown_page_has_a_dead_link():
    done = check()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ("other.html", False),
        ("other.html#there", False),
        ("#here", False),
        ("https://example.org/nowhere", False),
        ("missing.html", True),
        ("other.html#nowhere", True),
        ("#nowhere", True),
    ],
)
def test_a_dead_link_of_a_built_page_is_told(tmp_path, link, dead):
    (tmp_path / "page.html").write_text(f'<p id="here"><a href="{link}">a link</a>')
    (tmp_path / "other.html").write_text('<a name="there">a place</a>')
    done = check(tmp_path)
    assert done.returncode == dead
    assert (f"page.html: {link}: " in done.stdout) == dead


def test_places_in_markdown_are_headings_and_named_anchors():
    sys.path.insert(0, str(TOOL.parent))
    try:
        from dead_links import markdown
    finally:
        sys.path.pop(0)
    page = markdown(
        '# What `γ` is: [a link](x.md)\n\n<a id="table2"></a>\n\n```\n[no](y.md)\n```\n'
    )
    assert {"what-γ-is-a-link", "table2"} <= page.anchors
    assert page.links == ["x.md"]
