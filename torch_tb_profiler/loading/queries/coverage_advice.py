"""Which options of its recorder record what a recording lacks, and code with all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_tb_profiler.analysis.recording.capabilities import has_capability
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.analysis.recording.torch_version import torch_version
from torch_tb_profiler.knowledge.recorders import Recipe, RecordingOption, recorder_named
from torch_tb_profiler.knowledge.recording_code import options_for, recording_code
from torch_tb_profiler.requests.coverage import OptionCost, RecordingCode
from torch_tb_profiler.trace.model import Trace


class RecordingAdvice:
    """How to record more of the program of one recording.

    Attributes:
        localize: Replaces the terms of devices in a text by those of the recording's devices.
    """

    def __init__(self, trace: Trace) -> None:
        """Of the recorder of ``trace``, for its version and its devices."""
        recipe = recorder(trace).recipe
        other = None if recipe is None else recorder_named(recipe.otherwise).recipe
        self._trace = trace
        self._recipe: Recipe | None = recipe
        self._other: Recipe | None = other
        self._version = torch_version(trace)
        self._has_device = not (trace.device_work.is_empty() and trace.devices.is_empty())
        terms = device_terms(trace)
        self.localize: Callable[[str], str] = str if terms is None else terms.localize

    def option_names(self, needed: Sequence[str]) -> tuple[str, ...]:
        """The options that record what of ``needed`` the recording lacks: those of its recorder,
        else of the other recorder of such programs; empty where none is known."""
        missing = [each for each in needed if not self._holds(each)]
        options = self._options(self._recipe, missing) or self._options(self._other, missing)
        return tuple(dict.fromkeys(self.localize(each.name) for each in options))

    def code(self, needed: Sequence[str], missing: Sequence[str]) -> RecordingCode | None:
        """Code that records all of ``needed``; None where no option records any of ``missing``."""
        wanted = [each for each in missing if not self._holds(each)]
        own, other = (self._options(recipe, wanted) for recipe in (self._recipe, self._other))
        command = None
        if self._other is not None and other:
            every = self._usable(self._other, needed)
            command = self.localize(recording_code(self._other, every))
        recipe = self._recipe if own else self._other if other else None
        if recipe is None:
            return None
        options = self._usable(recipe, needed)
        costs = [OptionCost(self.localize(each.name), each.cost) for each in options if each.cost]
        return RecordingCode(
            recipe.language,
            self.localize(recording_code(recipe, options)),
            tuple(costs),
            command if recipe is self._recipe else None,
        )

    def _options(self, recipe: Recipe | None, missing: Sequence[str]) -> list[RecordingOption]:
        if recipe is None:
            return []
        return [each for each in self._usable(recipe, missing) if not self._was_set(each)]

    def _usable(self, recipe: Recipe, needed: Sequence[str]) -> list[RecordingOption]:
        options = options_for(recipe, needed, self._version)
        return [each for each in options if self._has_device or not each.needs_device]

    def _was_set(self, option: RecordingOption) -> bool:
        """Whether the recording says that this switch was on: then it brings nothing new."""
        key, _, value = (option.argument or "").partition("=")
        return value == "True" and getattr(self._trace.meta.info.recording, key, None) is True

    def _holds(self, capability: str) -> bool:
        return has_capability(self._trace, capability) is True
