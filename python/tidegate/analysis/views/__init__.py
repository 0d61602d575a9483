"""What can be asked of a scenario: one file a view, each from the mapped scenario to an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.analysis.mapped.network import Mapped
    from tidegate.analysis.views.answer import Answer

VIEWS = ("optimum", "equilibrium", "stability", "fluid", "activity", "blocking")


def ask(view: str, mapped: Mapped) -> Answer:
    """The answer of a view; `NoModelError` where no model applies."""
    from importlib import import_module

    module = import_module(f"tidegate.analysis.views.{view}")
    found: Answer = module.answer(mapped)
    return found
