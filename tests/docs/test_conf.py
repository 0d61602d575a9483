"""What Sphinx's configuration and its extensions do to pages: their examples."""

import doctest
import importlib.util

import pytest
from support import ROOT


@pytest.mark.parametrize(
    ("name", "examples"), [("conf", 2), ("glossary_links", 3), ("checkout", 2)]
)
def test_examples_of_the_pages_extensions_are_true(name, examples):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / f"docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    done = doctest.testmod(module)
    assert (done.attempted, done.failed) == (examples, 0)


def test_every_term_of_the_glossary_has_a_place():
    spec = importlib.util.spec_from_file_location("terms", ROOT / "docs/glossary_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    found = module.terms(page)
    rows = [line for line in page.splitlines() if line.startswith("| **")]
    assert len(set(found.values())) == len(rows) > 50
