"""Exit codes and final messages of the command, from its first moment to its last.

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
"""Maximum characters shown of an unexpected error."""


class _Interruptible:
    """Whether an interruption is raised in the command, which then says how to continue."""

    raises = False


def hear_interruptions() -> None:
    """End at once when interrupted, unless a command handles interruptions itself."""
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
    """End with a message if output cannot be written or an unexpected error occurs."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        exit_now(0)  # the reader, such as `head`, has seen enough
    except OSError as error:
        # Errors of files are reported where they are used; what is left has no file's name.
        place = error.filename or "standard output"
        eprint(f"tidegate: cannot write to {place}: {error.strerror}")
        exit_now(FAILED)
    except SystemExit as end:
        # The libraries that print end with 1 where the reader has left.
        if isinstance(end.__context__, BrokenPipeError):
            exit_now(0)
        raise
    except KeyboardInterrupt:
        eprint("interrupted")
        exit_now(INTERRUPTED)
    except BaseException as error:  # noqa: BLE001 - a panic of the engine is no Exception
        unexpected(error)
        exit_now(INTERNAL)


def unexpected(error: BaseException) -> None:
    """Print a message about an internal error, or a traceback if TIDEGATE_DEBUG is set."""
    if os.environ.get(DEBUG, "") not in {"", "0"}:
        import traceback

        eprint("".join(traceback.format_exception(error)).rstrip())
    message = " ".join(str(error).split())
    reason = message if len(message) <= LONGEST_REASON else f"{message[:LONGEST_REASON]}..."
    kind = type(error).__name__
    reason_text = f"{kind}: {reason}" if reason else kind
    eprint(f"tidegate: internal error: {reason_text}; {DEBUG}=1 shows where")


def exit_now(code: int) -> NoReturn:
    """Exit at once, without waiting for threads in the middle of a run."""
    try:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
    finally:
        os._exit(code)


def eprint(text: str) -> None:
    """Print to stderr, and ignore failures."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{lines(text)}\n")
        sys.stderr.flush()


def _interrupted(_signal: int, _frame: FrameType | None) -> None:
    if _Interruptible.raises:
        raise KeyboardInterrupt
    _exit_interrupted()


def _exit_interrupted() -> NoReturn:
    # Directly: what is being printed may have been interrupted itself.
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """End on an interruption also where an exception is ignored, such as in a callback."""
    if isinstance(what.exc_value, KeyboardInterrupt):
        _exit_interrupted()
    sys.__unraisablehook__(what)
