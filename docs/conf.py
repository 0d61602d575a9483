"""How Sphinx builds the documentation.

The source folder is the checkout, so that links between pages and the files they speak of lead
somewhere: ``sphinx-build -c docs . docs/_build/html``.
"""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tidegate

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "tidegate"
author = "the tidegate contributors"
copyright = "the tidegate contributors, Apache-2.0"
version = release = tidegate.__version__

extensions = [
    "checkout",
    "computed",
    "glossary_links",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "try_it",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# It does not know anchors in HTML. tools/dead_links.py looks at all links of the built pages.
suppress_warnings = ["myst.xref_missing"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "studies/*/README.md",
    "studies/*/RESULTS*.md",
    "studies/*/SEARCH*.md",
    "tools/linux-oracle/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [
    ".*",
    "target",
    "results",
    "fuzz",
    "docs/_build",
    "docs/_static",
    "studies/*/page*.md",
]

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_extra_path = ["_extra"]
html_title = f"tidegate {version}"
html_show_sourcelink = False
html_show_sphinx = False


def broken_well(body: str) -> str:
    """Break long names in code behind _, ., / or - alone, and no table's number from ± and %.

    >>> broken_well('<span class="pre">count_transmission</span> <span class="pre">Mb/s</span>')
    '<span class="pre">count_<wbr>transmission</span> <span class="pre">Mb/s</span>'
    >>> broken_well("<td>−2 ± 9 %</td> 9 %").replace("\N{NO-BREAK SPACE}", "_")
    '<td>−2_±_9_%</td> 9 %'
    """
    body = re.sub(r"<td.*?</td>", lambda cell: _in_one_piece(cell[0]), body, flags=re.DOTALL)
    return re.sub(
        r'(?<=<span class="pre">)[^<]{12,}',
        lambda name: re.sub(r"(?<=[\w\]])(_+|::|[./=-])(?=[A-Za-z\[{])", r"\1<wbr>", name[0]),
        body,
    )


def _in_one_piece(cell: str) -> str:
    return re.sub(r" (?=±|%)|(?<=±) ", "\N{NO-BREAK SPACE}", cell)


def setup(app: "Sphinx") -> None:
    """Say where lines may break in every page."""
    app.connect("html-page-context", _break_well)


def _break_well(
    _app: object, _name: str, _template: str, context: dict[str, Any], _tree: object
) -> None:
    if "body" in context:
        context["body"] = broken_well(context["body"])
