"""Cases: a trace opens with the memory snapshot of its process, wherever trainers write it."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest

from tests.helpers.snapshot_pairs import planted_pair
from torch_tb_profiler.analysis.memory.snapshot.agreement import snapshot_agreement
from torch_tb_profiler.api import OpenedTrace, open_trace

JOINED, NOT_JOINED = "snapshot_joined", "snapshot_not_joined"


def opened(path: Path) -> OpenedTrace:
    return open_trace(path, cache=False)


@pytest.mark.parametrize(
    ("trace", "snapshot"),
    [
        ("run/trace.pt.trace.json", "run/snapshot.pickle"),
        ("run/rank0.pt.trace.json", "run/rank0_memory.pickle"),
        (
            "run/profiling/traces/iteration_10/rank0_trace.json",
            "run/profiling/memory_snapshot/iteration_10/rank0_memory_snapshot.pickle",
        ),
        (
            "run/traces/iteration_10/rank0_trace.json",
            "run/memory_snapshot/step_10/rank_0_step_10.pickle",
        ),
        ("run/traces/rank0_trace.json", "run/memory_snapshot/rank0.pkl"),
    ],
)
def test_where_snapshots_are(tmp_path: Path, trace: str, snapshot: str) -> None:
    with opened(planted_pair(1).write(tmp_path, trace, snapshot)) as recording:
        known = snapshot_agreement(recording.trace)
        assert known is not None
        assert known.offset_ns == 350_000
        assert recording.trace.quality.examples[JOINED] == [Path(snapshot).name]


def test_the_snapshot_of_the_iteration_is_first(tmp_path: Path) -> None:
    path = planted_pair(1).write(
        tmp_path,
        "traces/iteration_20/rank0_trace.json",
        "memory_snapshot/iteration_20/rank0.pickle",
    )
    for number in (10, 11, 12):
        planted_pair(number).write(
            tmp_path, "other/x.json", f"memory_snapshot/iteration_{number}/rank0.pickle"
        )
    with opened(path) as recording:
        assert snapshot_agreement(recording.trace) is not None
        assert NOT_JOINED not in recording.trace.quality.counts


def test_ranks_have_their_own(tmp_path: Path) -> None:
    paths = []
    for rank in (0, 1):
        pair = planted_pair(rank + 1, offset_us=100 * rank)
        pair.trace["distributedInfo"] = {"rank": rank, "world_size": 2}
        name = f"memory_snapshot/iteration_2/rank{rank}.pickle"
        paths.append(pair.write(tmp_path, f"traces/iteration_2/rank{rank}_trace.json", name))
    for rank, path in enumerate(paths):
        with opened(path) as recording:
            known = snapshot_agreement(recording.trace)
            assert known is not None
            assert (known.file, known.offset_ns) == (f"rank{rank}.pickle", rank * 100_000)


def test_pages_and_reports_say_how_far_they_agree(tmp_path: Path) -> None:
    path = planted_pair(2).write(tmp_path, "trace.json", "snapshot.pickle")
    with opened(path) as recording:
        for name, series in (("memory", "memory_curve"), ("snapshot", "snapshot_curve")):
            answer = json.loads(recording.view(name).to_json())
            (note,) = (each for each in answer["notes"] if each["code"] == "snapshot_agreement")
            assert "snapshot.pickle is of this process" in note["text"]
            assert "differs by at most" in note["text"]
            lines = {line["name"] for line in answer["series"][series]["lines"]}
            extra = "snapshot" if name == "memory" else "trace"
            assert {"GPU 0 allocated", f"GPU 0 allocated ({extra})"} <= lines
            facts = {fact["key"]: fact["value"] for fact in answer["facts"]}
            assert facts["snapshot_matched_pct"] == 100
            assert facts["snapshot_offset_us"] == 350
            assert facts["snapshot_max_difference_bytes"] > 0
        table = recording.view("snapshot").table("by_owner")
        assert "aten::linear" in table["operator"].to_list()


def test_another_program_is_not_joined_and_the_reason_is_said(tmp_path: Path) -> None:
    path = planted_pair(3).write(tmp_path, "trace.json", "unused.bin")
    other = planted_pair(4).snapshot
    for entry in other["device_traces"][0]:
        entry["addr"] += 1 << 30
    (tmp_path / "snapshot.pickle").write_bytes(pickle.dumps(other))
    with opened(path) as recording:
        assert snapshot_agreement(recording.trace) is None
        (reason,) = recording.trace.quality.examples[NOT_JOINED]
        assert reason.startswith("snapshot.pickle: no allocation of the trace")
        assert "snapshot" not in {
            name for name, missing in recording.views().items() if missing is None
        }


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04", b"\x80\x04cos\nsystem\n(S'device_traces segments'\ntR.", b"x" * 9]
)
def test_other_pickles_are_harmless(tmp_path: Path, content: bytes) -> None:
    path = planted_pair(3).write(tmp_path, "trace.json", "unused.bin")
    (tmp_path / "snapshot.pickle").write_bytes(content)
    with opened(path) as recording:
        assert snapshot_agreement(recording.trace) is None
        assert recording.trace.memory.height


def test_real_recordings_of_other_programs_stay_apart(tmp_path: Path, corpus: Path) -> None:
    snapshots = sorted((corpus / "memsnap_cuda").rglob("*.pickle*"))
    trace = next((corpus / "h100_bert_small").glob("*.json.gz"))
    shutil.copy(trace, tmp_path / trace.name)
    shutil.copy(snapshots[0], tmp_path / snapshots[0].name)
    with opened(tmp_path / trace.name) as recording:
        assert snapshot_agreement(recording.trace) is None
        assert recording.trace.quality.counts[NOT_JOINED] == 1


def test_a_snapshot_alone_stays_what_it_is(tmp_path: Path) -> None:
    planted_pair(3).write(tmp_path, "trace.json", "snapshot.pickle")
    planted_pair(3).write(tmp_path, "trace.json", "second.pickle")
    with opened(tmp_path / "snapshot.pickle") as recording:
        assert recording.trace.meta.format == "snapshot"
        assert snapshot_agreement(recording.trace) is None
        assert recording.view("snapshot").table("by_owner").is_empty()


def test_traces_are_compared_by_operator_with_and_without_a_snapshot(tmp_path: Path) -> None:
    joined = planted_pair(3).write(tmp_path / "a", "trace.json", "snapshot.pickle")
    alone = planted_pair(3).write(tmp_path / "b", "trace.json", "unused.bin")
    with opened(joined) as candidate, opened(alone) as baseline:
        assert snapshot_agreement(candidate.trace) is not None
        table = candidate.compare(baseline).table("memory_parts")
        assert "operator" in table["grouping"].to_list()
        assert table["delta_size_bytes"].fill_null(1).sum() == 0
