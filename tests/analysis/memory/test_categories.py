"""Categories of blocks against programs that know their own tensors
(``tests/helpers/known_tensors.py``): trained with Adam and SGD, gradients released or set to zero,
gradient accumulation, a recording that begins in the middle, inference. Every byte a program knows
of is told right, and nothing else is called a parameter, a gradient, a state or an input."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import traces as t
from tests.helpers.known_tensors import Notes, Recording, infer, train
from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, memory_blocks
from torch_tb_profiler.analysis.memory.earlier import Earlier, earlier, model_memory
from torch_tb_profiler.analysis.memory.records import memory_records

pytest.importorskip("torch")

PROGRAMS = ("adam", "sgd", "accumulating", "running", "momentum", "inference")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    folder: Path = tmp_path_factory.mktemp("known")
    return {
        "adam": train(Notes(), optimizer="adam", folder=folder),
        "sgd": train(Notes(), optimizer="sgd", set_to_none=False, folder=folder),
        "accumulating": train(Notes(), optimizer="adam", microbatches=2, folder=folder),
        "running": train(Notes(), optimizer="adam", before=1, folder=folder),
        "momentum": train(Notes(), optimizer="sgd", before=1, steps=1, folder=folder),
        "inference": infer(Notes(), folder=folder),
    }


def bytes_by_truth(recording: Recording) -> dict[tuple[str, str], int]:
    """Bytes by what a block was and what it is said to be."""
    records, blocks = memory_records(recording.trace), memory_blocks(recording.trace)
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for row in np.flatnonzero(records.size_bytes > 0).tolist():
        told = CATEGORY_NAMES[blocks.category[row]]
        sums[recording.truth[row], told] += int(records.size_bytes[row])
    return sums


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_byte_the_program_knows_of_is_told_right(
    recordings: dict[str, Recording], name: str
) -> None:
    sums = bytes_by_truth(recordings[name])
    known = {key: size for key, size in sums.items() if key[0]}
    assert known
    assert {key: size for key, size in known.items() if key[0] != key[1]} == {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_program_does_not_know_of_is_temporary_but_for_its_loss(
    recordings: dict[str, Recording], name: str
) -> None:
    sums = bytes_by_truth(recordings[name])
    others = {told: size for (truth, told), size in sums.items() if not truth}
    kept = sum(size for told, size in others.items() if told != "temporary")
    assert set(others) <= {"temporary", "activation"}
    assert kept <= 0.001 * sum(sums.values())


def test_all_kinds_are_met(recordings: dict[str, Recording]) -> None:
    told = {told for name in PROGRAMS for _, told in bytes_by_truth(recordings[name])}
    assert told == {*CATEGORY_NAMES} - {"unknown"}
    sums = bytes_by_truth(recordings["adam"])
    size = recordings["adam"].parameter_bytes
    assert sums["parameter", "parameter"] == size
    # Two moments per parameter, and one number of steps of each.
    assert 2 * size < sums["optimizer_state", "optimizer_state"] < 2 * size + 1000


def test_the_model_is_as_large_as_its_parameters_and_their_state(
    recordings: dict[str, Recording],
) -> None:
    size = recordings["running"].parameter_bytes
    for name, states in (("running", 2), ("adam", 2), ("momentum", 1), ("inference", 0)):
        assert model_memory(recordings[name].trace) == Earlier(size, states * size), name
    # Torch counts the memory of the host from the start of its profiler on.
    assert earlier(recordings["running"].trace) == [Earlier()]


def test_what_was_there_before_on_a_gpu_is_the_model_less_what_was_made_since() -> None:
    taken: dict[str, Any] = {"Input type": ["float"]}
    forward: dict[str, Any] = {"Sequence number": 3, "Fwd thread id": 0}
    backward: dict[str, Any] = {"Sequence number": 3, "Fwd thread id": 1}
    events = [
        t.op("aten::mm", 10, 5, **forward),
        t.op("MmBackward0", 20, 9, **backward),
        t.memory(21, 4096, address=1, allocated=100_000),
        t.op("torch::autograd::AccumulateGrad", 30, 2, shape=[[32, 32]], **taken),
        t.op("Optimizer.step#AdamW.step", 40, 20, cat="user_annotation"),
        t.memory(41, 4096, address=2, allocated=104_096),
    ]
    assert earlier(t.trace(events)) == [Earlier(4096, 4096)]


def test_nothing_is_known_without_phases_steps_and_operators_of_a_model() -> None:
    trace = t.trace(
        [
            t.op("aten::add", 10, 5),
            t.memory(11, 8, address=1),
            t.memory(12, 16, address=2),
            t.memory(14, -8, address=1),
            t.memory(40, -16, address=2),
        ]
    )
    blocks = memory_blocks(trace)
    assert [CATEGORY_NAMES[code] for code in blocks.category[:2]] == ["temporary", "unknown"]
    assert blocks.phase.tolist() == [-1] * 4
