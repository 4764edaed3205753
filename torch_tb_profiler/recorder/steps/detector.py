"""Detects the steps of a program that does not declare them.

A step ends when an optimizer has stepped (of several taking turns, the last); without optimizers,
when the next batch is requested; without batches, when the outermost module is called again. Work
without gradients between optimizer steps is evaluation and belongs to no training step.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.steps.module_calls import ModuleCalls
from torch_tb_profiler.recorder.steps.optimizer_cycle import OptimizerCycle
from torch_tb_profiler.recorder.steps.optimizer_hooks import OptimizerHooks
from torch_tb_profiler.recorder.steps.tracker import LOADER, MODULE, OPTIMIZER, StepTracker
from torch_tb_profiler.recorder.torch_api.expectations import allows

MAX_UNDECIDED = 64
"""Batches or module calls without a step of an existing optimizer, after which they count as steps.
Gradient accumulation, and evaluation before the training, are shorter."""

PROGRAM = "program"
NO_THREAD = -1
"""In place of a thread id: no thread is observed, because steps are explicit."""


class StepDetector:
    """The part of a session that detects steps.

    Attributes:
        outermost: The first module called from outside; None before that.
    """

    def __init__(self, session: Session) -> None:
        """Create without hooking anything."""
        self._session = session
        self.outermost: weakref.ref[Any] | None = None
        self._by: str | None = None
        self._thread: int | None = None
        self._cycle = OptimizerCycle()
        self._tracker = StepTracker(session)
        self._optimizers = OptimizerHooks(self._optimizer_created, self.optimizer_stepped)
        self._modules: ModuleCalls | None = ModuleCalls(self, partial(allows, session=session))
        self._is_grad_enabled: Callable[[], bool] = _always
        self._is_loading = False
        self._has_activity = False
        self._waiting: list[int] = []
        self._requested_ns = 0
        self._delivered_loaders: set[int] = set()
        self._train_loaders: set[int] = set()
        self._batches = 0
        self._step_loader: int | None = None
        self._other_request: tuple[int, int] | None = None
        self._calls: list[int] = []
        self._trained: set[int] = set()
        self._model: weakref.ref[Any] | None = None

    def start(self) -> None:
        """Hook optimizers and modules; torch is imported."""
        import torch  # noqa: PLC0415 - the program has imported it

        self._is_grad_enabled = torch.is_grad_enabled
        if allows("optimizers", self._session):
            self._optimizers.start()
        self._cycle.add_optimizers(2 if self._optimizers.has_earlier_optimizers else 0)
        if self._modules is not None and allows("modules", self._session):
            self._modules.start()

    def flush(self) -> None:
        """Nothing is buffered."""

    def stop(self, reason: str) -> None:
        """Report the last step if it is complete, and remove the hooks."""
        self._optimizers.stop()
        if self._modules is not None:
            self._modules.stop()
        self._release()
        if self._by is None:
            self._switch_late(LOADER if self._batches else MODULE)
        self._tracker.stop(self._by or MODULE, is_whole=reason == "exit")
        if not self._has_activity:
            self._session.report_missing(
                "steps", "The program took no batch, called no module and stepped no optimizer."
            )

    def use_explicit_steps(self) -> StepTracker:
        """Stop detecting: the caller reports steps through the returned tracker."""
        self._note_activity()
        self._forget_modules()
        self._by, self._thread = PROGRAM, NO_THREAD
        return self._tracker

    # Batches.

    def batch_requested(self, loader: int, time_ns: int) -> None:
        """See :meth:`EventListener.batch_requested`."""
        if self._is_other_thread():
            return
        self._note_activity()
        self._is_loading = True
        self._requested_ns = time_ns
        self._batches += 1
        if self._modules is not None:
            self._modules.forget_nesting()
            if self._by == OPTIMIZER or (self._by == LOADER and self._batches > 1):
                self._forget_modules()  # with a single batch, calls of the module are the steps
        if self._by == OPTIMIZER or (self._by is None and self._cycle.has_optimizers):
            self._requested_with_optimizers(loader, time_ns)
        else:
            self._by = LOADER
            self._requested_without_optimizers(loader, time_ns)

    def batch_delivered(
        self, loader: int, _time_ns: int, _wait_ns: int, _samples: int | None
    ) -> None:
        """See :meth:`EventListener.batch_delivered`."""
        if not self._is_other_thread():
            self._is_loading = False
            self._tracker.mark_worked()
            if not self._tracker.is_evaluating:
                self._delivered_loaders.add(loader)

    def loader_exhausted(self, loader: int, time_ns: int) -> None:
        """See :meth:`EventListener.loader_exhausted`."""
        if self._is_other_thread():
            return
        self._is_loading = False
        if self._by == LOADER:
            if loader == self._step_loader:
                self._step_loader = None
                self._tracker.discard(time_ns)
        elif self._tracker.is_evaluating:
            self._tracker.end_evaluation(time_ns)
        elif self._tracker.has_begun_since(self._requested_ns):
            self._tracker.discard(time_ns)  # it started with the request that found no batch

    def _requested_with_optimizers(self, loader: int, time_ns: int) -> None:
        if not self._is_grad_enabled() or self._is_model_evaluating(loader):
            self._evaluate(time_ns)
            return
        self._train(time_ns)
        if self._by is None:
            self._waiting.append(time_ns)
            if len(self._waiting) > MAX_UNDECIDED:
                self._step_loader = loader
                self._switch_late(LOADER)

    def _switch_late(self, by: str) -> None:
        """Decide that batches or calls are the steps, including those so far."""
        self._by = by
        for time_ns in self._waiting[1:]:
            self._tracker.end(time_ns, by, is_late=time_ns != self._waiting[-1])
        self._waiting.clear()

    def _requested_without_optimizers(self, loader: int, time_ns: int) -> None:
        """Batches are steps: those of one loader, until it ends or another is requested twice."""
        if self._step_loader is not None and loader != self._step_loader:
            if self._other_request is None or self._other_request[0] != loader:
                self._other_request = (loader, time_ns)
                return
            self._end(LOADER, self._other_request[1])
            self._tracker.mark_worked()
        self._step_loader, self._other_request = loader, None
        self._end(LOADER, time_ns)

    # Optimizers.

    def _optimizer_created(self, optimizer: object) -> None:
        self._cycle.created(id(optimizer))

    def optimizer_stepped(self, optimizer: object, began_ns: int, ended_ns: int) -> None:
        """An optimizer's ``step`` has returned."""
        if self._thread is None:
            self._thread = threading.get_ident()
        elif self._is_other_thread():
            return
        self._note_activity()
        if self._by != OPTIMIZER:
            self._switch_to_optimizers()
        self._train_loaders |= self._delivered_loaders
        self._tracker.reclassify_as_training(began_ns)
        held_ns, ends = self._cycle.stepped(id(optimizer), ended_ns)
        if held_ns is not None:
            self._end(OPTIMIZER, held_ns)
        if ends:
            self._end(OPTIMIZER, ended_ns)

    def _switch_to_optimizers(self) -> None:
        self._by = OPTIMIZER
        self._waiting.clear()
        if self._modules is not None:
            self._modules.forget_nesting()
            model = self._modules.select(lambda each: id(each) in self._trained)
            self._model = None if model is None else weakref.ref(model)
            if self._batches:
                self._forget_modules()

    def _is_model_evaluating(self, loader: int) -> bool:
        """Whether the trained model is in eval mode and this loader was never used in training:
        some programs disable gradients only for the call of the model."""
        if loader in self._train_loaders:
            return False
        model = None if self._model is None else self._model()
        if model is None:
            return False
        for wrapped in ("module", "_orig_mod"):
            model = getattr(model, wrapped, model)
        return getattr(model, "training", True) is False

    # Modules.

    def call_began(self, module: Any, time_ns: int, is_known: bool) -> None:
        """See :meth:`CallListener.call_began`."""
        if self._is_loading or self._is_other_thread():
            return
        self._note_activity()
        if self.outermost is None:
            self.outermost = weakref.ref(module)
        grad = self._is_grad_enabled()
        if not grad and self._by is None and self._batches and self._cycle.has_optimizers:
            if not module.training:  # an evaluation before the training
                self._tracker.reclassify_as_evaluation(OPTIMIZER)
                self._waiting.clear()
                self._delivered_loaders.clear()
            return
        is_new = grad and id(module) not in self._trained
        if is_new and next(module.parameters(), None) is not None:
            self._trained.add(id(module))
        if self._by == OPTIMIZER:
            self._called_with_optimizers(module, time_ns, grad)
        elif self._by == MODULE:
            if is_known:
                self._end(MODULE, time_ns)
        elif not is_known:
            self._train(time_ns)
        else:
            self._called_undecided(time_ns)

    def call_ended(self, time_ns: int) -> None:
        """See :meth:`CallListener.call_ended`."""
        if not self._is_loading:
            self._tracker.mark_worked(time_ns)

    def _called_with_optimizers(self, module: Any, time_ns: int, grad: bool) -> None:
        if grad:
            self._train(time_ns)
        elif not module.training and id(module) in self._trained:
            self._evaluate(time_ns, is_call=True)

    def _called_undecided(self, time_ns: int) -> None:
        """Treat calls as steps unless batches or optimizers turn out to be."""
        if not self._batches and not self._cycle.has_optimizers:
            self._by = MODULE
            self._end(MODULE, time_ns)
            return
        self._train(time_ns)
        self._calls.append(time_ns)
        if len(self._calls) > MAX_UNDECIDED:
            self._waiting, self._calls = self._calls, []
            self._switch_late(MODULE)

    def _forget_modules(self) -> None:
        if self._modules is not None:
            self._modules.stop()
            self._modules = None

    # Common to all.

    def _note_activity(self) -> None:
        if not self._has_activity:
            self._has_activity = True
            self._session.note_activity()

    def _train(self, time_ns: int) -> None:
        self._tracker.train(time_ns)

    def _evaluate(self, time_ns: int, is_call: bool = False) -> None:
        self._release()
        self._tracker.evaluate(time_ns, OPTIMIZER, is_call)

    def _release(self) -> None:
        held_ns = self._cycle.release()
        if held_ns is not None:
            self._end(OPTIMIZER, held_ns)

    def _end(self, by: str, time_ns: int) -> None:
        self._tracker.end(time_ns, by)

    def _is_other_thread(self) -> bool:
        """Whether the current thread is not the one in which optimizers step."""
        return self._thread is not None and self._thread != threading.get_ident()


def _always() -> bool:
    return True
