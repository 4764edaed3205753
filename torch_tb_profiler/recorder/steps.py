"""Finds the steps of a program that does not tell them.

A step ends when an optimizer has stepped (of several in turn, the last); in a program without
optimizers, when the next batch is asked for; without batches, when its outermost module is called
again. What runs without gradients between optimizer steps is evaluation, and in no training step.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder.cycles import Cycle
from torch_tb_profiler.recorder.module_calls import ModuleCalls
from torch_tb_profiler.recorder.optimizer_hooks import OptimizerHooks
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.step_spans import LOADER, MODULE, OPTIMIZER, StepSpans

PATIENCE = 64
"""Batches, or calls of the module, without any step of an optimizer that exists: accumulation of
gradients ends before that, and so does the evaluation that some programs begin with."""

PROGRAM = "program"
NOBODY = -1
"""The thread to listen to where steps are told."""


class StepFinder:
    """The part of a session that finds steps.

    Attributes:
        outermost: The first module that was called from outside; None before.
    """

    def __init__(self, session: Session) -> None:
        """Look for nothing yet."""
        self._session = session
        self.outermost: weakref.ref[Any] | None = None
        self._by: str | None = None
        self._thread: int | None = None
        self._cycle = Cycle()
        self._spans = StepSpans(session)
        self._optimizers = OptimizerHooks(self._made, self.optimizer_stepped)
        self._modules: ModuleCalls | None = ModuleCalls(self)
        self._is_grad_enabled: Callable[[], bool] = _always
        self._is_loading = False
        self._has_signs = False
        self._waiting: list[int] = []
        self._wanted_ns = 0
        self._asked: set[int] = set()
        self._train_loaders: set[int] = set()
        self._batches = 0
        self._leader: int | None = None
        self._other: tuple[int, int] | None = None
        self._calls: list[int] = []
        self._trained: set[int] = set()
        self._model: weakref.ref[Any] | None = None

    def start(self) -> None:
        """Hook optimizers and modules; torch is imported."""
        import torch  # noqa: PLC0415 - the program has imported it

        self._is_grad_enabled = torch.is_grad_enabled
        try:
            self._optimizers.start()
        except (ImportError, AttributeError) as error:
            self._session.miss("steps", f"Optimizers cannot be heard: {error}.")
        self._cycle.made(2 if self._optimizers.made_before else 0)
        if self._modules is not None:
            self._modules.start()

    def flush(self) -> None:
        """Nothing is kept."""

    def stop(self, reason: str) -> None:
        """Tell the last step where it has ended, and take the hooks back."""
        self._optimizers.stop()
        if self._modules is not None:
            self._modules.stop()
        self._release()
        if self._by is None:
            self._turn_late(LOADER if self._batches else MODULE)
        self._spans.stop(self._by or MODULE, is_whole=reason == "exit")
        if not self._has_signs:
            self._session.miss(
                "steps", "The program took no batch, called no module and stepped no optimizer."
            )

    def give_way(self) -> StepSpans:
        """Find no more steps: somebody tells them who knows."""
        self._sign()
        self._forget_modules()
        self._by, self._thread = PROGRAM, NOBODY
        return self._spans

    # Batches.

    def batch_wanted(self, loader: int, time_ns: int) -> None:
        """As :meth:`Listener.batch_wanted`."""
        if self._is_elsewhere():
            return
        self._sign()
        self._is_loading = True
        self._wanted_ns = time_ns
        self._batches += 1
        if self._modules is not None:
            self._modules.forget_nesting()
            if self._by == OPTIMIZER or (self._by == LOADER and self._batches > 1):
                self._forget_modules()  # one batch alone may be worked on again and again
        if self._by == OPTIMIZER or (self._by is None and self._cycle.has_optimizers):
            self._wanted_beside_optimizers(loader, time_ns)
        else:
            self._by = LOADER
            self._wanted_alone(loader, time_ns)

    def batch_given(self, loader: int, _time_ns: int, _wait_ns: int, _samples: int | None) -> None:
        """As :meth:`Listener.batch_given`."""
        if not self._is_elsewhere():
            self._is_loading = False
            self._spans.worked()
            if not self._spans.is_evaluating:
                self._asked.add(loader)

    def loader_ended(self, loader: int, time_ns: int) -> None:
        """As :meth:`Listener.loader_ended`."""
        if self._is_elsewhere():
            return
        self._is_loading = False
        if self._by == LOADER:
            if loader == self._leader:
                self._leader = None
                self._spans.give_up(time_ns)
        elif self._spans.is_evaluating:
            self._spans.end_evaluation(time_ns)
        elif self._spans.has_begun_since(self._wanted_ns):
            self._spans.give_up(time_ns)  # it began with a batch that there was not

    def _wanted_beside_optimizers(self, loader: int, time_ns: int) -> None:
        if not self._is_grad_enabled() or self._is_model_evaluating(loader):
            self._evaluate(time_ns)
            return
        self._train(time_ns)
        if self._by is None:
            self._waiting.append(time_ns)
            if len(self._waiting) > PATIENCE:
                self._leader = loader
                self._turn_late(LOADER)

    def _turn_late(self, by: str) -> None:
        """Batches, or calls, are the steps after all: those that waited for it too."""
        self._by = by
        for time_ns in self._waiting[1:]:
            self._spans.end(time_ns, by, is_late=time_ns != self._waiting[-1])
        self._waiting.clear()

    def _wanted_alone(self, loader: int, time_ns: int) -> None:
        """Batches are steps: those of one loader, until it ends or another is asked twice."""
        if self._leader is not None and loader != self._leader:
            if self._other is None or self._other[0] != loader:
                self._other = (loader, time_ns)
                return
            self._end(LOADER, self._other[1])
            self._spans.worked()
        self._leader, self._other = loader, None
        self._end(LOADER, time_ns)

    # Optimizers.

    def _made(self, _optimizer: object) -> None:
        self._cycle.made()

    def optimizer_stepped(self, optimizer: object, began_ns: int, ended_ns: int) -> None:
        """An optimizer has stepped."""
        if self._thread is None:
            self._thread = threading.get_ident()
        elif self._is_elsewhere():
            return
        self._sign()
        if self._by != OPTIMIZER:
            self._turn_to_optimizers()
        self._train_loaders |= self._asked
        self._spans.was_training(began_ns)
        held_ns, ends = self._cycle.stepped(id(optimizer), ended_ns)
        if held_ns is not None:
            self._end(OPTIMIZER, held_ns)
        if ends:
            self._end(OPTIMIZER, ended_ns)

    def _turn_to_optimizers(self) -> None:
        self._by = OPTIMIZER
        self._waiting.clear()
        if self._modules is not None:
            self._modules.forget_nesting()
            model = self._modules.keep_only(lambda each: id(each) in self._trained)
            self._model = None if model is None else weakref.ref(model)
            if self._batches:
                self._forget_modules()

    def _is_model_evaluating(self, loader: int) -> bool:
        """Whether the model that is trained was put into its mode for evaluation, and this loader
        never trained it: some programs switch gradients off only when they call it."""
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
        """As :meth:`CallListener.call_began`."""
        if self._is_loading or self._is_elsewhere():
            return
        self._sign()
        if self.outermost is None:
            self.outermost = weakref.ref(module)
        grad = self._is_grad_enabled()
        if not grad and self._by is None and self._batches and self._cycle.has_optimizers:
            if not module.training:  # the evaluation that a program may begin with
                self._spans.was_evaluation(OPTIMIZER)
                self._waiting.clear()
                self._asked.clear()
            return
        is_new = grad and id(module) not in self._trained
        if is_new and next(module.parameters(), None) is not None:
            self._trained.add(id(module))
        if self._by == OPTIMIZER:
            self._called_beside_optimizers(module, time_ns, grad)
        elif self._by == MODULE:
            if is_known:
                self._end(MODULE, time_ns)
        elif not is_known:
            self._train(time_ns)
        else:
            self._called_undecided(time_ns)

    def call_ended(self, time_ns: int) -> None:
        """As :meth:`CallListener.call_ended`."""
        if not self._is_loading:
            self._spans.worked(time_ns)

    def _called_beside_optimizers(self, module: Any, time_ns: int, grad: bool) -> None:
        if grad:
            self._train(time_ns)
        elif not module.training and id(module) in self._trained:
            self._evaluate(time_ns, is_call=True)

    def _called_undecided(self, time_ns: int) -> None:
        """Calls are the steps unless batches or optimizers turn out to be."""
        if not self._batches and not self._cycle.has_optimizers:
            self._by = MODULE
            self._end(MODULE, time_ns)
            return
        self._train(time_ns)
        self._calls.append(time_ns)
        if len(self._calls) > PATIENCE:
            self._waiting, self._calls = self._calls, []
            self._turn_late(MODULE)

    def _forget_modules(self) -> None:
        if self._modules is not None:
            self._modules.stop()
            self._modules = None

    # What all of them lead to.

    def _sign(self) -> None:
        if not self._has_signs:
            self._has_signs = True
            self._session.evidence()

    def _train(self, time_ns: int) -> None:
        self._spans.train(time_ns)

    def _evaluate(self, time_ns: int, is_call: bool = False) -> None:
        self._release()
        self._spans.evaluate(time_ns, OPTIMIZER, is_call)

    def _release(self) -> None:
        held_ns = self._cycle.release()
        if held_ns is not None:
            self._end(OPTIMIZER, held_ns)

    def _end(self, by: str, time_ns: int) -> None:
        self._spans.end(time_ns, by)

    def _is_elsewhere(self) -> bool:
        """Whether this is another thread than the one in which optimizers step."""
        return self._thread is not None and self._thread != threading.get_ident()


def _always() -> bool:
    return True
