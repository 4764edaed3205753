"""The simulator: by hand, and against the recorded times of the samples."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench.diagnosis.model import Rank, Work
from bench.diagnosis.reading import DEVICE, build
from bench.diagnosis.replay import length, replay
from bench.diagnosis.writer import Style, Writer
from bench.diagnosis.writing import events

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
COMPUTE, OTHER = (0, 7), (0, 20)


def _writer() -> Writer:
    return Writer((1, 1), Style(), COMPUTE)


def _rank(writer: Writer) -> Rank:
    return Rank(writer.end(), {}, [], (1, 1))


def _kernel(writer: Writer, us: float) -> Work:
    """A kernel that starts 5 µs after its launch, which takes 4 µs."""
    return writer.kernel("k", us, call_us=4.0)


def test_kernels_wait_for_their_launch_and_their_stream() -> None:
    writer = _writer()
    first, second, third = _kernel(writer, 100.0), _kernel(writer, 10.0), None
    writer.host(200.0)
    third = _kernel(writer, 10.0)
    [times] = replay([_rank(writer)])
    # Launched at 0 and 4: the second waits for the first, and 1 µs. The third is launched at 208.
    assert times.works == {first: (5.0, 105.0), second: (106.0, 116.0), third: (213.0, 223.0)}


def test_what_hides_behind_the_queue_costs_nothing() -> None:
    def program(pause_us: float) -> list[Rank]:
        writer = _writer()
        _kernel(writer, 1000.0)
        writer.host(pause_us)
        _kernel(writer, 10.0)
        return [_rank(writer)]

    assert length(program(0.0)) == length(program(900.0)) == 5 + 1000 + 1 + 10
    assert length(program(1100.0)) == 4 + 1100 + 5 + 10


def test_a_call_that_waits_ends_after_the_device() -> None:
    writer = _writer()
    _kernel(writer, 1000.0)
    writer.synchronize(COMPUTE)
    writer.slice("later", 10.0)
    [times] = replay([_rank(writer)])
    # The kernel ends at 1005; the call returns 3 µs later.
    assert max(times.moments.values()) == 1005 + 3 + 10


def test_a_call_that_waits_for_nothing_takes_its_own_time() -> None:
    writer = _writer()
    _kernel(writer, 10.0)
    writer.host(500.0)
    writer.synchronize(None, us=7.0)
    [times] = replay([_rank(writer)])
    assert max(times.moments.values()) == 4 + 500 + 7


def test_the_queue_of_a_device_is_limited() -> None:
    writer = _writer()
    for _ in range(1030):
        _kernel(writer, 100.0)
    [times] = replay([_rank(writer)])
    # The launch of number 1024 (from 0) waits until the first work has ended, at 105.
    assert max(times.moments.values()) > 1024 * 4 + 4
    assert times.end == pytest.approx(5 + 1030 * 100 + 1029)


def test_a_collective_ends_together_on_all_ranks() -> None:
    ranks = []
    for late_us in (0.0, 500.0):
        writer = _writer()
        writer.host(late_us)
        work = Work("nccl", "kernel", OTHER, 50.0, 8.0, collective=("c", 1))
        writer.call("LaunchKernelExC", 6.0, [work])
        writer.synchronize(OTHER)
        ranks.append(_rank(writer))
    early, late = replay(ranks)
    assert [*early.works.values(), *late.works.values()] == [(8.0, 558.0), (508.0, 558.0)]
    assert max(early.moments.values()) == max(late.moments.values()) == 561.0


def test_ranks_that_wait_in_a_circle_are_an_error() -> None:
    ranks = []
    for order in ((1, 2), (2, 1)):
        writer = _writer()
        for number in order:
            work = Work("nccl", "kernel", OTHER, 50.0, 8.0, collective=("c", number))
            writer.call("LaunchKernelExC", 6.0, [work])
        ranks.append(_rank(writer))
    with pytest.raises(RuntimeError, match="wait for each other"):
        replay(ranks)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/*.json.gz")), ids=lambda path: path.stem)
def test_a_replay_without_changes_gives_the_recorded_times(path: Path) -> None:
    data = json.loads(gzip.decompress(path.read_bytes()))
    rank = build(data)
    [times] = replay([rank])
    replayed = _starts_and_lengths(events(rank, times))
    recorded = _starts_and_lengths(data["traceEvents"])
    keys = {(category, key) for _, _, category, key in replayed}
    recorded = [row for row in recorded if row[2:] in keys]  # but for threads that only look on
    first = min(start for start, _, category, _ in recorded if category not in DEVICE)
    since = min(start for start, _, category, _ in replayed if category not in DEVICE)
    expected: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for start, us, category, key in recorded:
        expected.setdefault((category, key), []).append((start - first, us))
    assert len(recorded) == len(replayed) > 100
    for start, us, category, key in replayed:
        nearest = min(
            max(abs(start - since - other), abs(us - its_us))
            for other, its_us in expected[category, key]
        )
        assert nearest <= 0.01, (key, start - since)


def _starts_and_lengths(written: list[dict[str, Any]]) -> list[tuple[float, float, str, Any]]:
    """Start, length, category, and what names each slice but for the recording itself."""
    rows = []
    for event in written:
        if event.get("ph") != "X" or event.get("cat") in ("Trace", "gpu_user_annotation"):
            continue
        args = event.get("args", {})
        ids = args.get("correlation"), args.get("External id"), args.get("Python id")
        key = event["name"], str(event["tid"]) if "stream" not in args else args["stream"], ids
        rows.append((event["ts"], event["dur"], str(event["cat"]).lower(), key))
    return rows
