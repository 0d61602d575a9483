"""Text from files, made safe for where it is shown: a terminal, a page in Markdown, a figure.

What a file says may hold anything, such as the control sequences by which a terminal is given
orders. Each place has one function here, and one seam where it is called: the command's writers
(``cli/common.py``), `tidegate.studies.page.grid_table`, and ``figures/look.py``.
"""

from __future__ import annotations

import json
import re

# What a terminal obeys instead of showing it: control characters (C0, DEL, C1), what turns the
# direction of text (Unicode, UAX #9), separators of lines, and halves of characters.
_DIRECTION = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_OBEYED = re.compile(f"[\x00-\x1f\x7f-\x9f{_DIRECTION}\ud800-\udfff]")
_OBEYED_BUT_LINES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTION}\ud800-\udfff]")
# Code, tables, HTML and emphasis, and where a link begins.
_MARKDOWN = re.compile(r"([\\`*<|]|\[(?=[^\]]*\]\())")


def one_line(text: object) -> str:
    r"""A name or a value as it may stand in a line: nothing in it ends the line or acts.

    >>> one_line("a\x1b]0;own\x07\nb")
    'a\\x1b]0;own\\x07\\nb'
    """
    return _OBEYED.sub(_escaped, str(text))


def lines(text: object) -> str:
    r"""The same of a message of several lines, which stay apart.

    >>> lines("first\nsecond \u202e")
    'first\nsecond \\u202e'
    """
    return _OBEYED_BUT_LINES.sub(_escaped, str(text))


def markdown(text: object) -> str:
    r"""A name or a value in a page in Markdown, on one line, as the text that it is.

    >>> print(markdown("a|b <b> `c` [d](e) [Mb/s]"))
    a\|b \<b> \`c\` \[d](e) [Mb/s]
    """
    shown = _OBEYED.sub(_escaped, str(text).replace("\n", " "))
    return _MARKDOWN.sub(r"\\\1", shown)


def in_json(text: str) -> str:
    r"""A document in JSON, whose texts keep what they say.

    >>> in_json('"a\x9bb"')
    '"a\\u009bb"'
    """
    return _OBEYED_BUT_LINES.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")
