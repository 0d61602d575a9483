"""How the command ends, from its first moment to its last: exit codes, and a line that says why.

Nothing is imported here that takes time, so that an interruption is heard while the rest is.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from tidegate.escapes import lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

FAILED = 1
MISSED = 5
INTERNAL = 70
"""EX_SOFTWARE of sysexits(3)."""
INTERRUPTED = 130

DEBUG = "TIDEGATE_DEBUG"
LONGEST_REASON = 300
"""Characters of an unexpected error that are shown."""


class _Interruptible:
    """Whether an interruption may be raised in what runs now, which then says how to go on."""

    raises = False


def hear_interruptions() -> None:
    """End at once when interrupted, whatever runs; a command may ask to be told instead."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGINT, _interrupted)
    sys.unraisablehook = _unraisable


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt in the body, as Python does by itself."""
    _Interruptible.raises = True
    try:
        yield
    finally:
        _Interruptible.raises = False


@contextmanager
def output() -> Iterator[None]:
    """End in a line where what is printed does not arrive, and where something is unexpected."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        leave(0)  # the reader, such as `head`, has seen enough
    except OSError as error:
        # What goes wrong with files is told where they are used; what is left has no file's name.
        place = error.filename or "standard output"
        remark(f"tidegate: cannot write to {place}: {error.strerror}")
        leave(FAILED)
    except SystemExit as end:
        # The libraries that print end with 1 where the reader has left.
        if isinstance(end.__context__, BrokenPipeError):
            leave(0)
        raise
    except KeyboardInterrupt:
        remark("interrupted")
        leave(INTERRUPTED)
    except BaseException as error:  # noqa: BLE001 - a panic of the engine is no Exception
        unexpected(error)
        leave(INTERNAL)


def unexpected(error: BaseException) -> None:
    """Say in a line that tidegate has a bug, or with a traceback where that is asked for."""
    if os.environ.get(DEBUG, "") not in {"", "0"}:
        import traceback

        remark("".join(traceback.format_exception(error)).rstrip())
    said = " ".join(str(error).split())
    reason = said if len(said) <= LONGEST_REASON else f"{said[:LONGEST_REASON]}..."
    kind = type(error).__name__
    told = f"{kind}: {reason}" if reason else kind
    remark(f"tidegate: internal error: {told}; {DEBUG}=1 shows where")


def leave(code: int) -> NoReturn:
    """End at once: threads in the middle of a run cannot be stopped, and need not be waited for."""
    try:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
    finally:
        os._exit(code)


def remark(text: str) -> None:
    """Print to stderr; there is nobody to tell where that fails."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{lines(text)}\n")
        sys.stderr.flush()


def _interrupted(_signal: int, _frame: FrameType | None) -> None:
    if _Interruptible.raises:
        raise KeyboardInterrupt
    _leave_interrupted()


def _leave_interrupted() -> NoReturn:
    # Directly: what is being printed may have been interrupted itself.
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """End on an interruption where nothing can be raised as well, such as in a callback."""
    if isinstance(what.exc_value, KeyboardInterrupt):
        _leave_interrupted()
    sys.__unraisablehook__(what)
