"""What Sphinx's configuration does to pages: its examples."""

import doctest
import importlib.util

from support import ROOT


def test_lines_break_where_they_should():
    spec = importlib.util.spec_from_file_location("docs_conf", ROOT / "docs/conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    done = doctest.testmod(conf)
    assert (done.attempted, done.failed) == (2, 0)
