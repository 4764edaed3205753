"""Which optimizer call ends a step if several optimizers take turns (GANs, one per layer)."""

from __future__ import annotations

MAX_OTHERS = 32
"""Calls per optimizer without a call of the last one, after which that one counts as unused."""


class OptimizerCycle:
    """The cycle of optimizer calls in a step; the last optimizer of the cycle ends the step.

    With several optimizers the end of the first step is held until one of them steps again: only
    then is the cycle known.

    Attributes:
        held_ns: Presumed end of the held step; None if no step is held.
    """

    def __init__(self) -> None:
        self.held_ns: int | None = None
        self._optimizer_count = 0
        self._cycle: list[int] = []
        self._last: int | None = None
        self._others = 0

    def add_optimizers(self, count: int = 1) -> None:
        """Count optimizers that were created."""
        self._optimizer_count += count

    def created(self, optimizer: int) -> None:
        """Count an optimizer that was created. Its ``id`` may be that of one that no longer exists:
        programs that train one model after another create optimizers again and again."""
        self.add_optimizers()
        if optimizer in self._cycle and optimizer != self._last:
            self._cycle.remove(optimizer)

    @property
    def has_optimizers(self) -> bool:
        """Whether any optimizer exists."""
        return self._optimizer_count > 0

    def stepped(self, optimizer: int, time_ns: int) -> tuple[int | None, bool]:
        """Process a call of an optimizer's ``step``.

        Args:
            optimizer: ``id`` of the optimizer.
            time_ns: End of the call.

        Returns:
            The end of the held step, if it is now certain; whether this call ends a step.
        """
        if self._last is None:
            return self._learn(optimizer, time_ns)
        if optimizer == self._last:
            self._others = 0
            return None, True
        if optimizer not in self._cycle:
            self._cycle.append(optimizer)
            self._last = optimizer
            self._others = 0
            return None, True
        self._others += 1
        if self._others > MAX_OTHERS * len(self._cycle):
            self._cycle, self._last, self._others = [optimizer], None, 0
            self.held_ns = time_ns
        return None, False

    def release(self) -> int | None:
        """Give up holding: the end of the held step, or None."""
        held_ns, self.held_ns = self.held_ns, None
        return held_ns

    def _learn(self, optimizer: int, time_ns: int) -> tuple[int | None, bool]:
        if optimizer in self._cycle:
            self._last = self._cycle[-1]
            return self.release(), optimizer == self._last
        self._cycle.append(optimizer)
        if self._optimizer_count <= 1:
            self._last = optimizer
            return None, True
        self.held_ns = time_ns
        return None, False
