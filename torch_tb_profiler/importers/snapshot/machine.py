"""The pickle machine of snapshots, which makes no dict of an allocator event.

Most of a snapshot are entries of allocator traces, millions of similar dicts: they become rows of
columns while they are read (:mod:`torch_tb_profiler.importers.snapshot.entries`), most of them
without ever being a dict (:mod:`torch_tb_profiler.importers.snapshot.bulk`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_tb_profiler.budget import UNLIMITED, Budget
from torch_tb_profiler.importers.plain_pickle.machine import PickleMachine
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.snapshot.entries import KEYS, EntryRun, EntryStore


class SnapshotMachine(PickleMachine):
    """The execution of the pickle of a snapshot.

    Args:
        window, progress, budget: As of :class:`PickleMachine`.

    Attributes:
        entries: The entries of allocator traces read so far.
    """

    def __init__(
        self,
        window: StreamWindow,
        progress: Callable[[], None] = lambda: None,
        budget: Callable[[], Budget] = lambda: UNLIMITED,
    ) -> None:
        super().__init__(window, progress, budget)
        self.entries = EntryStore(self._memo)

    def _refill(self, at: int) -> tuple[int, int]:
        if self._window.is_whole:
            return super()._refill(at)
        self.entries.leave_window()
        moved = super()._refill(at)
        self.entries.enter_window(self._data)
        return moved

    def _check_values(self) -> None:
        super()._check_values()
        self.entries.stacks.most = self._budget().limit("memory_stacks")

    def _empty_dict(self, at: int) -> int:
        run = self.entries.run_at(at - 1, self._memo_count)
        if run is None:
            return super()._empty_dict(at)
        self._memo_count += run.memoized
        self._push_rows(run.rows)
        return run.end

    def _push_rows(self, rows: EntryRun) -> None:
        """Push rows, merged with the rows on top of the stack if they are contiguous."""
        top = self._stack[-1] if self._stack else None
        if (
            isinstance(top, EntryRun)
            and top.end == rows.start
            and self._marks[-1:] < [len(self._stack)]
        ):
            self._stack[-1] = EntryRun(top.start, rows.end)
        else:
            self._stack.append(rows)

    def _setitems(self, at: int) -> int:
        at = super()._setitems(at)
        whole = self._stack[-1]
        if "action" in whole and "size" in whole:
            self._stack.pop()
            self._push_rows(self.entries.add(whole))
        return at

    def _not_memoized(self, index: int) -> Any:
        return self.entries.stack_at(index)

    def _memoize_as(self, index: int) -> None:
        super()._memoize_as(index)
        value = self._memo[index]
        if type(value) is str and value in KEYS:
            self.entries.register_key(value, index)
