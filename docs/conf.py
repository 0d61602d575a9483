"""How Sphinx builds the documentation."""

import tidegate

project = "tidegate"
author = "the tidegate contributors"
copyright = "the tidegate contributors, Apache-2.0"
version = release = tidegate.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Links out of docs/ (to sources and scenarios) are for those who read the checkout.
suppress_warnings = ["myst.xref_missing"]
exclude_patterns = ["_build"]

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wrap.css"]
html_title = f"tidegate {version}"
html_show_sourcelink = False
html_show_sphinx = False
