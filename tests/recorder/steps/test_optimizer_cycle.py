"""The cycle of optimizers where one gets the ``id`` of another that no longer exists."""

from __future__ import annotations

from torch_tb_profiler.recorder.steps.optimizer_cycle import OptimizerCycle


def test_trials_with_an_optimizer_each() -> None:
    """A search creates an optimizer per trial; of the dead ones some leave their ``id`` behind."""
    cycle, ends = OptimizerCycle(), 0
    for trial in (1, 2, 3, 1, 2, 2, 1):
        cycle.created(trial)
        for time_ns in range(40):
            held_ns, is_end = cycle.stepped(trial, time_ns)
            ends += is_end + (held_ns is not None)
    assert ends == 7 * 40


def test_a_pair_that_takes_turns_is_not_forgotten() -> None:
    cycle = OptimizerCycle()
    for pair in ((1, 2), (3, 4), (1, 2)):
        for optimizer in pair:
            cycle.created(optimizer)
        ends = [cycle.stepped(each, 0)[1] for _ in range(4) for each in pair]
    assert ends[2:] == [False, True] * 3
