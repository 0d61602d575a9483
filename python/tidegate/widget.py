"""The simulator within a notebook: the page of `tidegate explore` as a widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.errors import UsageError

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise UsageError(
        "the widget needs anywidget: pip install 'tidegate[notebook]'; tidegate.explore writes "
        "the page as a file without it"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.scenarios.reading import Settings, Source

_SHOW = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    const address = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
    frame.title = "tidegate";
    frame.style.cssText = `width: 100%; height: ${model.get("height_px")}px; border: 0`;
    frame.src = address;
    const hear = ({ source, data }) => {
      if (source !== frame.contentWindow || !data || !data.tidegate) return;
      for (const [key, value] of Object.entries(data.tidegate)) model.set(key, value);
      model.save_changes();
    };
    addEventListener("message", hear);
    el.append(frame);
    return () => {
      removeEventListener("message", hear);
      URL.revokeObjectURL(address);
    };
  },
};
"""


class Explorer(anywidget.AnyWidget):
    """The simulator, live in a notebook; what is chosen and what comes out are its attributes.

    It runs in the reader's browser, by the same engine and with the same digests.
    """

    _esm = _SHOW
    page = traitlets.Unicode().tag(sync=True)
    """The page, as HTML."""
    height_px = traitlets.Int(900).tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    """The scenario as it stands: TOML, for `tidegate.simulate(explorer.text)`."""
    against = traitlets.Unicode().tag(sync=True)
    """Keys and values that the other variant has: ``KEY=VALUE; KEY=VALUE``."""
    digests = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Digest of each variant's first run, as `tidegate simulate` prints it, once all have ended."""
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    """What comes out: ``variant``, ``metric``, ``name``, ``mean``, ``ci95``, ``runs``; metrics and
    units as in the tables of `simulate`."""


def explorer(
    scenario: Source | None = None,
    *,
    set: Settings | None = None,  # noqa: A002 - the same word as on the command line
    add: Settings | None = None,
    against: Mapping[str, str] | None = None,
    height_px: int = 900,
) -> Explorer:
    """Return the simulator as a widget, which a notebook shows as the last value of a cell.

    Parameters
    ----------
    scenario, set, add, against
        As for `explore`.
    height_px
        Height of the widget.

    Raises
    ------
    MissingPageError
        Where the page is not built.
    ScenarioError
        Where the scenario or the variant is refused.
    UsageError
        Where anywidget is not installed: the extra ``notebook`` of the package has it.

    """
    from tidegate.exploring import page_of

    _, html, state = page_of(scenario, set=set, add=add, against=against)
    chosen: dict[str, Any] = state or {}
    return Explorer(page=html, height_px=height_px, **chosen)
