"""Detected steps start and end where the program itself measured it.

Cases: a plain loop, accumulated gradients, two alternating optimizers, evaluation between epochs,
within one and before the first step, GradScaler with skipped steps, a learning rate schedule, an
optimizer with a closure, batches without optimizers, an optimizer that never steps, a failed step,
a loop in another thread, two consecutive recordings.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from tests.helpers.recorded_steps import (  # noqa: E402
    assert_one_after_another,
    assert_within,
    now_ns,
    recorded,
    small_model,
    work,
)

Instants = tuple[int, int, int, int]


def loader_of(batches: int) -> Any:
    return DataLoader(TensorDataset(torch.randn(2 * batches, 4)), batch_size=2)


class Truth:
    """The time intervals in which each step started and ended."""

    def __init__(self) -> None:
        self.steps: list[Instants] = []
        self._start = (now_ns(), 0)

    def begin(self) -> None:
        """A step has started since the last one ended."""
        self._start = (self._start[0], now_ns())

    def end(self, end_from: int) -> None:
        """The step ended between an instant and now; the next one starts there too."""
        now = now_ns()
        self.steps.append((*self._start, end_from, now))
        self._start = (end_from, now)

    def restart(self) -> None:
        """The next step starts after now."""
        self._start = (now_ns(), 0)


def train(net: Any, optimizer: Any, truth: Truth, batches: Any, accumulate: int = 1) -> None:
    """Run a training loop and record the truth."""
    is_first = True
    for number, (batch,) in enumerate(batches, 1):
        if is_first:
            truth.begin()
            is_first = False
        net(batch).sum().backward()
        work()
        if number % accumulate == 0:
            end_from = now_ns()
            optimizer.step()
            truth.end(end_from)
            optimizer.zero_grad()
            is_first = True


def test_plain_training_loop(tmp_path: Path) -> None:
    net = small_model()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.AdamW(net.parameters())
        work()
        truth = Truth()
        for _ in range(6):
            net(torch.randn(2, 4)).sum().backward()
            truth.begin()
            end_from = now_ns()
            optimizer.step()
            truth.end(end_from)
    assert result.detected_by() == {"optimizer"}
    assert_within(result.steps_of("train"), truth.steps)
    assert not net._forward_pre_hooks
    assert not net._forward_hooks


@pytest.mark.parametrize("accumulate", [1, 3])
def test_accumulated_gradients_are_one_step(tmp_path: Path, accumulate: int) -> None:
    net = small_model()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        truth = Truth()
        train(net, optimizer, truth, loader_of(4 * accumulate), accumulate)
    assert result.detected_by() == {"optimizer"}
    assert_within(result.steps_of("train"), truth.steps)


def test_two_alternating_optimizers_are_one_step(tmp_path: Path) -> None:
    one, other = small_model(), small_model()
    with recorded(tmp_path) as result:
        first = torch.optim.SGD(one.parameters(), lr=0.1)
        last = torch.optim.SGD(other.parameters(), lr=0.1)
        truth = Truth()
        for (batch,) in loader_of(5):
            truth.begin()
            one(batch).sum().backward()
            first.step()
            other(batch).sum().backward()
            end_from = now_ns()
            last.step()
            truth.end(end_from)
    assert_within(result.steps_of("train"), truth.steps)


def test_a_second_optimizer_ends_the_steps_once_it_is_used(tmp_path: Path) -> None:
    one, other = small_model(), small_model()
    with recorded(tmp_path) as result:
        first = torch.optim.SGD(one.parameters(), lr=0.1)
        last = torch.optim.SGD(other.parameters(), lr=0.1)
        for number in range(8):
            one(torch.randn(2, 4)).sum().backward()
            first.step()
            if number >= 4:
                last.step()
    assert len(result.steps_of("train")) == 4 + 1 + 4


def evaluate(net: Any, batches: Any, truth: list[Instants]) -> None:
    """Evaluate without gradients; a step ends when the next batch is requested."""
    net.eval()
    requested = now_ns()
    with torch.no_grad():
        for (batch,) in batches:
            got = now_ns()
            net(batch)
            work()
            end_from = now_ns()
            truth.append((requested, got, end_from, 0))
            requested = end_from
    over = now_ns()
    for number, (start_from, start_to, end_from, _) in enumerate(truth):
        if truth[number][3] == 0:
            following = truth[number + 1][1] if number + 1 < len(truth) else over
            truth[number] = (start_from, start_to, end_from, following)
    net.train()


def test_evaluation_after_each_epoch_is_separate(tmp_path: Path) -> None:
    net = small_model()
    evaluated: list[Any] = []
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        truth = Truth()
        for _ in range(2):
            train(net, optimizer, truth, loader_of(3))
            one: list[Instants] = []
            evaluate(net, loader_of(2), one)
            evaluated += one
            truth.restart()
    assert_within(result.steps_of("train"), truth.steps)
    assert_within(result.steps_of("evaluation"), evaluated)
    assert_one_after_another(result)


def test_evaluation_within_an_epoch_and_before_the_first_step(tmp_path: Path) -> None:
    net = small_model()
    evaluated: list[Any] = []
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        evaluate(net, loader_of(2), evaluated)
        truth = Truth()
        batches = iter(loader_of(6))
        for _ in range(2):
            train(net, optimizer, truth, [next(batches), next(batches)])
            one: list[Instants] = []
            evaluate(net, loader_of(2), one)
            evaluated += one
            truth.restart()
    assert len(result.steps_of("train")) == 4
    assert_within(result.steps_of("evaluation"), evaluated)
    assert_one_after_another(result)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_evaluation_that_disables_gradients_late(tmp_path: Path, is_compiled: bool) -> None:
    net = small_model()

    def evaluate_late(call: Any, batches: Any) -> tuple[int, int]:
        begun = now_ns()
        net.eval()
        for (batch,) in batches:
            with torch.no_grad():
                call(batch)
        net.train()
        return begun, now_ns()

    with recorded(tmp_path) as result:
        call = torch.compile(net, backend="eager") if is_compiled else net
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        truth, evaluations = Truth(), []
        batches, others = loader_of(3), loader_of(3)
        evaluations.append(evaluate_late(call, others))
        truth.restart()
        for _ in range(2):
            train(call, optimizer, truth, batches)
            evaluations.append(evaluate_late(call, others))
            truth.restart()
    assert_within(result.steps_of("train"), truth.steps)
    evaluation = result.steps_of("evaluation")
    assert len(evaluation) == 9
    for number, (begun, over) in enumerate(evaluations):
        assert begun <= evaluation[3 * number][0]
        assert evaluation[3 * number + 2][1] <= over
    assert_one_after_another(result)


def test_training_in_eval_mode_is_training(tmp_path: Path) -> None:
    net = small_model().eval()
    with recorded(tmp_path) as result:
        truth = Truth()
        train(net, torch.optim.SGD(net.parameters(), lr=0.1), truth, loader_of(12), accumulate=3)
    assert len(result.steps_of("train")) == 4
    assert_within(result.steps_of("train")[2:], truth.steps[2:])


def test_evaluation_without_a_loader_is_calls_of_the_trained_module(tmp_path: Path) -> None:
    net, teacher = small_model(), small_model()
    teacher.eval()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for number in range(6):
            with torch.no_grad():
                target = teacher(torch.ones(2, 4))
            (net(torch.ones(2, 4)) - target).sum().backward()
            optimizer.step()
            if number == 3:
                net.eval()
                with torch.no_grad():
                    for _ in range(3):
                        net(torch.ones(2, 4))
                over = now_ns()
                net.train()
    evaluation = result.steps_of("evaluation")
    assert len(evaluation) == 3
    assert len(result.steps_of("train")) == 6
    assert evaluation[-1][1] <= over
    assert_one_after_another(result)


def test_steps_skipped_by_grad_scaler_belong_to_the_next(tmp_path: Path) -> None:
    net = small_model()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4)
        truth = Truth()
        for number, (batch,) in enumerate(loader_of(6)):
            truth.begin()
            loss = net(batch).sum()
            scaler.scale(loss * float("inf") if number in (2, 3) else loss).backward()
            end_from = now_ns()
            scaler.step(optimizer)
            if number not in (2, 3):
                truth.end(end_from)
            scaler.update()
            optimizer.zero_grad()
    assert len(result.steps_of("train")) == 4
    assert [each[2:] for each in truth.steps] == [
        (end_from, end_to)
        for (_, end), (*_, end_from, end_to) in zip(
            result.steps_of("train"), truth.steps, strict=True
        )
        if end_from <= end <= end_to
    ]


def test_schedulers_and_closures(tmp_path: Path) -> None:
    net = small_model()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        truth, called = Truth(), [0]

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (net(torch.ones(2, 4)) ** 2).sum()
            loss.backward()
            called[0] = now_ns()
            return loss

        for _ in range(4):
            net(torch.ones(2, 4))
            truth.begin()
            optimizer.step(closure)
            truth.end(called[0])
            scheduler.step()
    assert_within(result.steps_of("train"), truth.steps)


def test_batches_are_steps_without_optimizers(tmp_path: Path) -> None:
    net, truth = small_model(), []
    with recorded(tmp_path) as result:
        for _ in range(2):
            one: list[Instants] = []
            evaluate(net, loader_of(3), one)
            truth += one
    assert result.detected_by() == {"loader"}
    assert_within(result.steps_of("train"), truth)
    assert result.steps_of("evaluation") == []


@pytest.mark.parametrize(
    ("reason", "tail_s", "expected"),
    [
        ("exit", 0.0, 5),
        ("exit", 0.2, 4),
        ("exception ValueError", 0.0, 4),
    ],
)
def test_the_last_step_of_a_loop_left_by_break(
    tmp_path: Path, reason: str, tail_s: float, expected: int
) -> None:
    with recorded(tmp_path, reason) as result:
        for number, _ in enumerate(loader_of(9)):
            work(0.05 if number == 2 else 0.0)
            if number == 4:
                break
        work(tail_s)
    assert len(result.steps_of("train")) == expected


def test_batches_are_steps_if_no_optimizer_steps(tmp_path: Path) -> None:
    net = small_model()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for (batch,) in loader_of(100):
            net(batch)
    assert optimizer.param_groups
    assert result.detected_by() == {"loader"}
    assert len(result.steps_of("train")) == 100


def test_two_parallel_loaders_are_one_step(tmp_path: Path) -> None:
    with recorded(tmp_path) as result:
        for _ in zip(loader_of(4), loader_of(4), strict=True):
            work()
        left = iter(loader_of(9))
        next(left)
        for _ in loader_of(3):
            work()
    assert len(result.steps_of("train")) == 4 + 1 + 3


def test_a_failed_step_is_not_counted(tmp_path: Path) -> None:
    net = small_model()

    def fail(batches: Iterator[Any]) -> None:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for number, (batch,) in enumerate(batches):
            net(batch).sum().backward()
            if number == 3:
                raise ValueError("in the middle")
            optimizer.step()

    with pytest.raises(ValueError, match="in the middle"), recorded(tmp_path) as result:
        fail(iter(loader_of(6)))
    assert len(result.steps_of("train")) == 3


def test_a_training_loop_in_another_thread(tmp_path: Path) -> None:
    net = small_model()
    with recorded(tmp_path) as result:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        truth = Truth()
        thread = threading.Thread(target=train, args=(net, optimizer, truth, loader_of(5)))
        thread.start()
        thread.join()
        list(loader_of(3))
    assert_within(result.steps_of("train"), truth.steps)


def test_consecutive_recordings(tmp_path: Path) -> None:
    net = small_model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for name in ("one", "two"):
        with recorded(tmp_path / name) as result:
            truth = Truth()
            train(net, optimizer, truth, loader_of(3))
        assert_within(result.steps_of("train"), truth.steps)
    train(net, optimizer, Truth(), loader_of(2))
