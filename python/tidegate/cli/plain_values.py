"""Values of options that need no library to be read.

Typer reads each value with an adapter of pydantic, whose import takes longer than the rest of a
command line. Here the usual values are read without: texts, plain whole numbers, words of an
enumeration, paths. Typer reads the others, and says what is wrong with them.
"""

from __future__ import annotations

import os
import re
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

_NUMBER = re.compile("[0-9]{1,18}")
MISSING = object()
"""What `plain` gives of a value that it does not read."""


class PlainValues:
    """A command of typer, or a group, that reads plain values of its parameters itself."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as typer has it
        """Return the parameters, that of ``--help`` among them."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            # Versions of typer that read values otherwise do without.
            if getattr(parameter, "_runtime_param", MISSING) is None:
                parameter._runtime_param = _Plain()
        return found


class _Plain:
    """In place of typer's reader of a parameter's values."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        described = param.type_descriptor
        found = plain(value, described.annotation, described.parameter_info)
        if found is not MISSING:
            return found
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def plain(value: Any, annotation: Any, about: Any) -> Any:  # noqa: ANN401 - of an option's type
    """Read a value as typer does, or give `MISSING`."""
    if get_origin(annotation) is list:
        (of,) = get_args(annotation)
        several = value if isinstance(value, list | tuple) else [MISSING]
        items = [plain(item, of, about) for item in several]
        return MISSING if any(item is MISSING for item in items) else items
    found = MISSING
    if about.parser is not None or not isinstance(annotation, type):
        return found
    if annotation is str and isinstance(value, str):
        found = value
    elif annotation is int:
        found = _whole(value, about)
    elif annotation is Path:
        found = _path(value, about)
    elif issubclass(annotation, Enum):
        found = _word(value, annotation)
    return found


def _whole(value: object, about: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return MISSING
    number = int(value)
    too_small = about.min is not None and number < about.min
    too_large = about.max is not None and number > about.max
    return MISSING if too_small or too_large or about.clamp else number


def _word(value: object, words: type[Enum]) -> Any:  # noqa: ANN401
    known = {word.value: word for word in words}
    if isinstance(value, words):
        return value
    return known.get(value, MISSING) if isinstance(value, str) else MISSING


def _path(value: object, about: Any) -> Any:  # noqa: ANN401
    asks = about.exists or about.resolve_path or about.writable or about.allow_dash
    if asks or about.path_type is not None or not (about.file_okay and about.dir_okay):
        return MISSING
    if not isinstance(value, str | Path):
        return MISSING
    unreadable = os.path.exists(value) and not os.access(value, os.R_OK)  # noqa: PTH110
    return MISSING if unreadable else Path(value)
