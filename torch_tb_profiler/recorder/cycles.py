"""Which call of which optimizer ends a step, where several take turns (a GAN, one per layer)."""

from __future__ import annotations

MAX_OTHERS = 32
"""So often per optimizer the others may step without the last one; then that one has retired."""


class Cycle:
    """The turn of the optimizers: the last one of a turn ends the step.

    With several optimizers the first step is held back until one of them steps again: only then is
    it known who belongs to a turn.

    Attributes:
        held_ns: When the step that is held back ends as far as is known; None: none is.
    """

    def __init__(self) -> None:
        self.held_ns: int | None = None
        self._made = 0
        self._turn: list[int] = []
        self._last: int | None = None
        self._others = 0

    def made(self, how_many: int = 1) -> None:
        """So many more optimizers exist."""
        self._made += how_many

    @property
    def has_optimizers(self) -> bool:
        """Whether any exists."""
        return self._made > 0

    def stepped(self, optimizer: int, time_ns: int) -> tuple[int | None, bool]:
        """An optimizer has stepped.

        Returns:
            The end of a step that was held back, if it is certain now; whether this ends a step.
        """
        if self._last is None:
            return self._learned(optimizer, time_ns)
        if optimizer == self._last:
            self._others = 0
            return None, True
        if optimizer not in self._turn:
            self._turn.append(optimizer)
            self._last = optimizer
            self._others = 0
            return None, True
        self._others += 1
        if self._others > MAX_OTHERS * len(self._turn):
            self._turn, self._last, self._others = [optimizer], None, 0
            self.held_ns = time_ns
        return None, False

    def release(self) -> int | None:
        """The end of the step that is held back: it must end now."""
        held_ns, self.held_ns = self.held_ns, None
        return held_ns

    def _learned(self, optimizer: int, time_ns: int) -> tuple[int | None, bool]:
        if optimizer in self._turn:
            self._last = self._turn[-1]
            return self.release(), optimizer == self._last
        self._turn.append(optimizer)
        if self._made <= 1:
            self._last = optimizer
            return None, True
        self.held_ns = time_ns
        return None, False
