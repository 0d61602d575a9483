"""Examples in docstrings, of every module that has any."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import tidegate

PACKAGE = Path(tidegate.__file__).parent


def modules():
    """Names of the modules with examples that are not only there to be read."""
    for path in sorted(PACKAGE.rglob("*.py")):
        examples = re.findall(r">>> .*", path.read_text(encoding="utf-8"))
        if any("+SKIP" not in line for line in examples if "import" not in line):
            yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


@pytest.mark.parametrize("module", list(modules()))
def test_examples_in_the_docstrings_are_true(module):
    done = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert done.attempted
    assert not done.failed
