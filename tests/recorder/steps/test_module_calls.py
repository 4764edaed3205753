"""Steps of programs that only call a module, and the effect of hooks on modules and compiled
code."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.helpers.recorded_steps import now_ns, recorded, small_model, work  # noqa: E402


def test_calls_of_the_outermost_module_are_steps(tmp_path: Path) -> None:
    net, calls = small_model(), []
    with recorded(tmp_path) as result, torch.inference_mode():
        torch.nn.LayerNorm(4)(torch.ones(2, 4))
        for _ in range(5):
            before = now_ns()
            net(torch.ones(2, 4))
            calls.append((before, now_ns()))
            work()
    steps = result.steps_of("train")
    assert result.detected_by() == {"module"}
    assert len(steps) == 5
    for (start, _), (before, after) in zip(steps[1:], calls[1:], strict=True):
        assert before <= start <= after
    assert [end for _, end in steps[:-1]] == [start for start, _ in steps[1:]]
    assert calls[-1][0] <= steps[-1][1] <= calls[-1][1]


def test_one_call_is_a_step(tmp_path: Path) -> None:
    with recorded(tmp_path) as result:
        before = now_ns()
        small_model()(torch.ones(2, 4))
        after = now_ns()
    ((start, end),) = result.steps_of("train")
    assert before <= start <= end <= after


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_copies_and_pickles_are_those_of_an_unrecorded_module(tmp_path: Path) -> None:
    """Also in other processes: a file with the recorder's hooks could not be scripted there."""
    net = small_model()
    net.register_forward_hook(print_nothing)
    before = pickle.dumps(net)
    with recorded(tmp_path) as result:
        net(torch.ones(2, 4))
        assert len(net._forward_hooks) == 2
        assert pickle.dumps(net) == before
        copied = copy.deepcopy(net)
        assert len(copied._forward_hooks) == 1
        assert len(copied._forward_pre_hooks) == 0
        copied._forward_hooks.clear()
        assert torch.jit.script(copied)(torch.ones(2, 4)).shape == net(torch.ones(2, 4)).shape
        for _ in range(3):
            assert copied(torch.ones(2, 4)).equal(pickle.loads(before)(torch.ones(2, 4)))
        for _ in range(2):
            net(torch.ones(2, 4))
    assert len(result.steps_of("train")) >= 3
    assert not net._forward_pre_hooks
    assert pickle.dumps(net) == before
    assert "__getstate__" not in vars(net)


def print_nothing(*_: object) -> None:
    """A hook of the program."""


class WithState(torch.nn.Linear):  # type: ignore[name-defined,misc]
    """A module that says itself what its state is."""

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "own": True}


def test_a_module_with_a_state_of_its_own(tmp_path: Path) -> None:
    net = WithState(4, 4)
    before = pickle.dumps(net)
    with recorded(tmp_path):
        net(torch.ones(2, 4))
        assert pickle.dumps(net) == before
        assert copy.deepcopy(net).own is True


@pytest.mark.filterwarnings("error:Using `torch.compile")
@pytest.mark.parametrize("kind", ["module", "function", "in place"])
def test_hooks_cause_no_recompilation(tmp_path: Path, kind: str) -> None:
    from torch._dynamo.testing import CompileCounter  # noqa: PLC0415

    def compile_and_call() -> tuple[int, int]:
        torch._dynamo.reset()
        counter, net = CompileCounter(), small_model()
        if kind == "module":
            call = torch.compile(net, backend=counter)
        elif kind == "function":
            call = torch.compile(lambda batch: net(batch) * 2, backend=counter)
        else:
            net.compile(backend=counter)
            call = net
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            call(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return counter.frame_count, counter.op_count

    without = compile_and_call()
    with recorded(tmp_path) as result:
        assert compile_and_call() == without
    assert len(result.steps_of("train")) == 4


def test_a_program_that_does_nothing_leaves_no_file(tmp_path: Path) -> None:
    with recorded(tmp_path / "run"):
        torch.ones(3)
    assert not (tmp_path / "run").exists()
