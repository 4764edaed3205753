"""Which part of a trace a view is asked about. What that means for its rows: ``steps/masks.py``."""

from __future__ import annotations

from msgspec import Struct

SHOWN_CHARACTERS = 40
"""How much of a text from outside an error repeats."""


class SelectionError(ValueError):
    """A selection that cannot be understood or names steps the trace does not have."""


class UnusableRecordingError(SelectionError):
    """What is wrong is in the file, whatever is selected."""


class Selection(Struct, frozen=True):
    """What part of a trace is selected: what restricts the rows of every view. What only some views
    are asked, they declare themselves (``views/parameters.py``).

    Attributes:
        steps: None for all, else the text of the parameter (``steps/step_text.py``): ``"5"``,
            ``"5:8"``, ``"5-8"``, ``"3,5:8"``, ``"last 3"``.
        start_ns: Start of a time range (trace time), None for open.
        end_ns: End of the time range, not included, None for open.
        group_by: How rows are grouped; None means the view's default.
        iterations_by: What splits the recording into steps
            (``analysis/steps/iterations/split_by.py``); the caller of a view has
            split the trace by it, so views and masks ignore it.
        phase: Only what belongs to this phase of a step.
        forward_start: Name of the operator with which the forward pass begins.
        backward_end: Name of the operator with which the backward pass ends.
    """

    steps: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    group_by: str | None = None
    iterations_by: str | None = None
    phase: str | None = None
    forward_start: str | None = None
    backward_end: str | None = None

    @property
    def is_everything(self) -> bool:
        """True when no part of the trace is left out."""
        no_times = self.start_ns is None and self.end_ns is None
        return self.steps is None and no_times and self.phase is None


def chosen_group_by(selection: Selection, group_bys: tuple[str, ...]) -> str:
    """The grouping asked for, or the default (the first).

    Raises:
        SelectionError: the view has no such grouping.
    """
    if selection.group_by is None:
        return group_bys[0]
    if selection.group_by not in group_bys:
        raise SelectionError(
            f"group_by: {selection.group_by[:SHOWN_CHARACTERS]!r} is none of {', '.join(group_bys)}"
        )
    return selection.group_by
