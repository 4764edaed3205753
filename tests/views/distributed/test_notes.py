"""Damaged ranks in the distributed view: named with the damage, shown with what there is, and no
subject of advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from tests.views.run_views import rows, view
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

ALL = Selection()


def rank(late_us: int, *, steps: int = 2) -> list[Event]:
    """Per step of 1000 µs one product of 200 µs and one collective that ends at 700 on all ranks
    and begins later on a rank that comes late."""
    events: list[Event] = []
    for number in range(steps):
        at, corr = 1000 * number, 10 * number
        events += [
            step(number, at, 1000),
            op("aten::mm", at + 10, 50),
            call("cudaLaunchKernel", at + 20, 5, corr=corr + 1),
            kernel("gemm", at + 100, 200, corr=corr + 1),
            annotation("nccl:all_reduce", at + 320, 20),
            call("cudaLaunchKernel", at + 325, 5, corr=corr + 2),
            kernel("ncclDevKernel_AllReduce_X", at + 400 + late_us, 300 - late_us, corr=corr + 2),
        ]
    return events


def file_of(events: list[Event], keep: int | None = None) -> Trace:
    """The trace of a file with these events, cut in the middle of the event ``keep``."""
    whole = json.dumps({"schemaVersion": 1, "traceEvents": events})
    text = whole
    if keep is not None:
        begin = whole.index(json.dumps(events[keep]))
        text = whole[: begin + 20]
    return build_trace(read_text([text.encode()], name="rank"))


def codes(notes: tuple[Note, ...]) -> dict[str, Note]:
    return {note.code: note for note in notes}


def summarised(of: Trace, folder: Path) -> Trace:
    folder.mkdir()
    save_summary(of, folder)
    return load_summary(folder)


@pytest.mark.parametrize("small", [False, True], ids=["traces", "summaries"])
def test_a_rank_that_was_cut_is_named(tmp_path: Path, small: bool) -> None:
    traces = {"rank0": file_of(rank(0)), "rank1": file_of(rank(40), keep=10)}
    if small:
        traces = {name: summarised(of, tmp_path / name) for name, of in traces.items()}
    found = view(traces)
    note = codes(found.notes)["truncated"]
    assert (note.kind, note.severity) == ("quality", "warning")
    assert note.text.startswith("rank1: The file ends in the middle")
    assert (note.evidence["workers"], note.evidence["worker_count"]) == (["rank1"], 1)
    assert found.notes[0] is note
    # The second step of rank1 lost its kernels, so its mean is of the first.
    assert rows(found, "overlap", "computation_us", step="all") == [(200,), (200,)]
    assert rows(found, "overlap", "worker", step="1") == [("rank0",)]


def test_a_rank_cut_in_its_first_step_has_no_rows_and_a_note() -> None:
    traces = {"rank0": file_of(rank(0)), "rank1": file_of(rank(0), keep=0)}
    found = view(traces)
    assert {fact.key: fact.value for fact in found.facts}["worker_count"] == 2
    assert {name for (name,) in rows(found, "overlap", "worker")} == {"rank0"}
    notes = codes(found.notes)
    assert notes["truncated"].evidence["workers"] == ["rank1"]
    assert notes["no_step_recorded"].evidence == {"workers": ["rank1"]}
    assert "rank1" in notes["no_step_recorded"].text


def test_damage_that_touches_no_step_is_not_told() -> None:
    of = trace(rank(0))
    for issue in ("launch_without_operator", "device_without_properties", "trailing_comma"):
        of.quality.add(issue)
    assert set(codes(view({"rank0": of, "rank1": trace(rank(0))}).notes)) == set()


def test_a_thousand_damaged_ranks_make_one_short_note() -> None:
    of = file_of(rank(0), keep=10)
    found = view({f"rank{number}": of for number in range(1024)})
    (note,) = [note for note in found.notes if note.code == "truncated"]
    assert note.text.startswith("rank0, rank1, rank2, rank3, rank4 and 1,019 more: ")
    assert len(json.dumps(note.evidence)) < 200


def test_half_a_rank_is_no_straggler() -> None:
    """rank1 comes 40 µs late in each step of 1000: 4 %. Cut in its second step, it is no subject;
    whoever else comes late still is."""
    whole = {"rank0": file_of(rank(0)), "rank1": file_of(rank(40))}
    (note,) = detect_across_workers(whole, ALL)
    assert (note.code, note.evidence["measured"]) == ("straggler", 4.0)
    cut = {**whole, "rank1": file_of(rank(40), keep=10)}
    assert codes(view(cut).notes)["truncated"].evidence["workers"] == ["rank1"]
    assert detect_across_workers(cut, ALL) == ()
    late = {**cut, "rank2": file_of(rank(100))}
    (note,) = detect_across_workers(late, ALL)
    assert note.code == "straggler"
    assert note.text.startswith("rank2 ")


def test_ranks_that_are_not_here_are_said_first() -> None:
    job = {"distributedInfo": {"world_size": 8}}
    two = {f"rank{number}": trace(rank(50 * number), **job) for number in range(2)}
    note = view(two).notes[0]
    assert (note.code, note.severity) == ("ranks_missing", "warning")
    assert note.text.startswith("Recordings of 2 of 8 ranks are loaded.")
    columns = set(cast(list[str], note.evidence["columns"]))
    assert columns < {key for table in view(two).tables.values() for key in table.frame.columns}
    alone = {"rank0": trace(rank(0), **job)}
    assert "ranks_missing" not in codes(view(alone).notes), "alone nothing is compared"
    whole = {
        f"rank{number}": trace(rank(0), distributedInfo={"world_size": 2}) for number in (0, 1)
    }
    assert "ranks_missing" not in codes(view(whole).notes)


def test_ranks_of_one_file_are_here() -> None:
    """Two files of four devices each, which say no rank, are the eight ranks of the job."""
    kernels = [kernel("gemm", 10, 30, device=device) for device in range(4)]
    files = {name: trace(kernels, distributedInfo={"world_size": 8}) for name in ("a", "b")}
    assert "ranks_missing" not in codes(view(files).notes)
    more = {name: trace(kernels, distributedInfo={"world_size": 9}) for name in ("a", "b")}
    assert codes(view(more).notes)["ranks_missing"].text.startswith("Recordings of 8 of 9 ranks")


def test_both_ends_of_a_send_are_all_that_take_part() -> None:
    """Two stages of a pipeline in a group of four: nobody else is missing from what they send."""

    def stage(rank: int, name: str) -> Trace:
        group: dict[str, Any] = {
            "Collective name": name.split(maxsplit=1)[0].removeprefix("nccl:"),
            "Group size": 4,
            "Process Group Name": "0",
            "Process Group Ranks": "[0, 1, 2, 3]",
        }
        events = [
            step(0, 0, 1000),
            op("record_param_comms", 10, 30, **group),
            annotation(name, 12, 20),
            call("cudaLaunchKernel", 15, 5, corr=1),
            kernel("ncclDevKernel_SendRecv", 50, 100, corr=1),
        ]
        return trace(events, distributedInfo={"world_size": 4, "rank": rank})

    notes = view({"0": stage(0, "nccl:send 0->1"), "1": stage(1, "nccl:recv 1<-0")}).notes
    assert "collective_partial" not in codes(notes)
    both = view({str(number): stage(number, "nccl:all_reduce") for number in range(2)}).notes
    assert codes(both)["collective_partial"].evidence == {"count": 2}
