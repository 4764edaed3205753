"""What differs beside the code: each thing alone makes its warning and takes the confidence away,
in hand-made recordings and in real ones."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.derived import DerivedValues
from torch_tb_profiler.trace.info import TraceInfo
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View

ALL = Selection()
V100, A100 = "Tesla V100-SXM2-32GB", "NVIDIA A100-SXM4-80GB"


def training(
    *,
    device: str | None = V100,
    world: int | None = None,
    batch: int = 32,
    dtype: str = "float",
    steps: int = 3,
    operator: str = "aten::linear",
    devices: int = 1,
    shapes: bool = True,
    **header: Any,
) -> Trace:
    """Steps of one linear layer with one kernel on each device."""
    events: list[t.Event] = []
    for number in range(steps):
        at = 1000 * number
        told: dict[str, Any] = (
            {"shape": [[batch, 64], [64, 64]], "Input type": [dtype, dtype]} if shapes else {}
        )
        events += [
            t.step(number, at, 200 + number),
            t.op(operator, at + 10, 90, **told),
        ]
        for gpu in range(devices):
            corr = 10 * number + gpu + 1
            events += [
                t.call("cudaLaunchKernel", at + 15 + 5 * gpu, 3, corr=corr),
                t.kernel(f"{operator}_kernel", at + 40, 30, corr=corr, device=gpu),
            ]
    if device is not None:
        header["deviceProperties"] = [{"id": gpu, "name": device} for gpu in range(devices)]
    if world is not None:
        header["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": world}
    return t.trace(events, **header)


def around(view: View) -> dict[str, dict[str, Any]]:
    return {row["kind"]: row for row in view.tables["surroundings"].frame.rows(named=True)}


def warnings(view: View) -> list[str]:
    return [note.code for note in view.notes if note.severity == "warning"]


def confidences(view: View) -> list[Any]:
    """Every confidence and bound that the view gives."""
    keys = re.compile(r"confidence_.*|delta_.*_(low|high)_us")
    return [
        value
        for table in view.tables.values()
        for column in table.spec.columns
        if keys.fullmatch(column.key)
        for value in table.frame[column.key].drop_nulls()
    ] + [f.value for f in view.facts if f.key.startswith("confidence") and f.value is not None]


@pytest.mark.parametrize(
    ("kind", "other", "baseline", "candidate"),
    [
        ("device", {"device": A100}, V100, A100),
        ("device_count", {"devices": 2}, "1", "2"),
        ("batch", {"batch": 64}, "32", "64"),
        ("precision", {"dtype": "c10::BFloat16"}, "float32 100 %", "bfloat16 100 %"),
        ("steps", {"steps": 15}, "3 of 3", "15 of 15"),
        (
            "work",
            {"operator": "aten::conv2d"},
            "operators 0 %; kernels 0 %",
            "operators 0 %; kernels 0 %",
        ),
    ],
)
def test_one_difference_warns_and_takes_the_confidence(
    kind: str, other: dict[str, Any], baseline: str, candidate: str
) -> None:
    view = compare(training(), ALL, training(**other), ALL)
    row = around(view)[kind]
    assert (row["baseline"], row["candidate"]) == (baseline, candidate)
    assert (row["same"], row["severity"], row["reason"]) == (False, "warning", None)
    assert f"other_{kind}" in warnings(view)
    assert view.notes[0].severity == "warning"
    assert view.notes[0].code.startswith("other_")
    assert confidences(view) == []
    (sure,) = [fact for fact in view.facts if fact.key == "confidence_total_pct"]
    assert sure.value is None
    assert sure.reason is not None
    assert row["what"] in sure.reason
    assert f"{baseline} against {candidate}" in sure.reason
    assert view.facts[0].key == "delta_total_us"
    assert view.facts[0].value is not None, "the difference is shown still"


def test_world_sizes_differ() -> None:
    view = compare(training(world=8), ALL, training(world=4), ALL)
    assert warnings(view) == ["other_world_size"]
    assert confidences(view) == []
    assert "The numbers of ranks differ: 8 against 4" in view.notes[0].text


def _all_reduce(group_size: int | None, **header: Any) -> Trace:
    """One collective; ``group_size`` as its arguments tell it."""
    named = {"Collective name": "allreduce", "Group size": group_size}
    told: dict[str, Any] = {} if group_size is None else named
    kernel = t.kernel("ncclDevKernel_AllReduce_Sum_f32", 40, 30, corr=1, **told)
    return t.trace([t.step(0, 0, 200), t.call("cudaLaunchKernel", 15, 3, corr=1), kernel], **header)


JOB_OF_8 = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}
ALONE = "1 (no distributed job or collective recorded)"


@pytest.mark.parametrize(
    ("baseline", "candidate", "texts", "same"),
    [
        (training(world=8), training(), ("8", ALONE), False),
        (training(), _all_reduce(4), (ALONE, "at least 4"), False),
        (training(world=1), training(), ("1", None), None),
        (training(world=8), _all_reduce(None), ("8", None), None),
        (_all_reduce(8), _all_reduce(4), ("at least 8", "at least 4"), False),
        (_all_reduce(4), _all_reduce(4), ("at least 4", "at least 4"), True),
        (_all_reduce(4), _all_reduce(4, **JOB_OF_8), ("at least 4", "8"), None),
        (_all_reduce(16), _all_reduce(4, **JOB_OF_8), ("at least 16", "8"), False),
    ],
)
def test_the_number_of_ranks_where_a_side_names_no_job(
    baseline: Trace, candidate: Trace, texts: tuple[str | None, str | None], same: bool | None
) -> None:
    """A process of its own beside a job; else what its collectives tell."""
    view = compare(baseline, ALL, candidate, ALL)
    row = around(view)["world_size"]
    assert (row["baseline"], row["candidate"], row["same"]) == (*texts, same)
    assert ("other_world_size" in warnings(view)) == (same is False)
    assert (row["reason"] is None) == (same is not None)


def test_a_part_of_the_work_in_common_is_not_the_same_work() -> None:
    """Half of each program is the other's: no warning, but nothing that is called equal."""
    both = [t.op("aten::mm", 10, 50), t.op("aten::add", 70, 50)]
    other = [t.op("aten::mm", 10, 50), t.op("aten::mul", 70, 50)]
    view = compare(t.trace(both), ALL, t.trace(other), ALL)
    row = around(view)["work"]
    assert (row["baseline"], row["candidate"]) == ("operators 50 % by name, 100 % with pairs",) * 2
    assert (row["same"], row["severity"], row["reason"]) == (False, None, None)
    assert "other_work" not in [note.code for note in view.notes]


def test_renamed_kernels_are_not_called_the_same() -> None:
    """The same operators under the same names, 10 of 40 µs of their kernels under another."""

    def of(*names: str) -> Trace:
        events: list[t.Event] = [t.op("aten::mm", 0, 90, shape=[[8, 8], [8, 8]])]
        for number, name in enumerate(names):
            at = 10 + 30 * number
            events += [
                t.call("cudaLaunchKernel", at, 3, corr=number + 1),
                t.kernel(name, at + 10, 10 + 20 * number, corr=number + 1),
            ]
        return t.trace(events)

    row = around(compare(of("gemm", "relu"), ALL, of("Cijk", "relu"), ALL))["work"]
    text = "operators 100 %; kernels 75 % by name, 100 % with pairs"
    assert (row["baseline"], row["candidate"]) == (text, text)
    assert (row["same"], row["severity"]) == (False, None)


def test_overlapping_ranges_of_torch_versions_are_no_difference() -> None:
    """Without shapes and settings a trace is of 1.10 to 2.3, and one of 2.0 may be of the same."""
    sides = training(shapes=False), training(record_shapes=1)
    row = around(compare(sides[0], ALL, sides[1], ALL))["torch"]
    assert (row["baseline"], row["candidate"]) == ("1.10 to 2.3", "2.0")
    assert (row["same"], row["severity"]) == (None, None)
    assert "overlap" in row["reason"]


def test_what_is_the_same_warns_of_nothing() -> None:
    view = compare(training(world=8), ALL, training(world=8), ALL)
    assert warnings(view) == []
    assert len(confidences(view)) > 5
    kinds = {kind for kind, row in around(view).items() if row["same"] is True}
    assert kinds >= {"device", "world_size", "batch", "shapes", "precision", "work", "steps"}


def test_unknown_is_never_the_same() -> None:
    """Neither side has shapes, devices' names or a job: no word on them, with the reason."""
    sides = [training(device=None, shapes=False) for _ in range(2)]
    view = compare(sides[0], ALL, sides[1], ALL)
    for kind in ("device", "world_size", "batch", "shapes", "precision", "torch"):
        row = around(view)[kind]
        assert (row["same"], row["severity"]) == (None, None), kind
        assert row["reason"], kind
    assert around(view)["batch"]["baseline"] is None
    assert "record_shapes" in around(view)["batch"]["reason"]
    assert warnings(view) == []
    one = around(compare(training(), ALL, sides[0], ALL))["batch"]
    assert (one["baseline"], one["candidate"], one["same"]) == ("32", None, None)
    assert one["reason"].startswith("Candidate: input shapes")


def test_a_processor_against_a_device() -> None:
    host = t.trace([t.step(n, 1000 * n, 200) for n in range(3)])
    view = compare(host, ALL, training(), ALL)
    assert around(view)["device"]["baseline"] == "none (CPU)"
    assert "other_device" in warnings(view)
    assert "other_device_count" not in warnings(view)


def test_ascend_against_cuda() -> None:
    """An Ascend trace names no device: it is another one than a V100, and maybe that of another."""
    npu = training(device=None)
    meta = replace(npu.meta, format="ascend", info=TraceInfo(recorder="torch_npu.profiler"))
    npu = replace(npu, meta=meta, derived=DerivedValues())
    view = compare(npu, ALL, training(), ALL)
    assert around(view)["device"]["baseline"] == "Ascend NPU (model not recorded)"
    assert "other_device" in warnings(view)
    assert around(view)["torch"]["same"] is None
    assert around(view)["format"]["same"] is False
    assert around(compare(npu, ALL, npu, ALL))["device"]["same"] is None


def test_damage_of_both_sides_is_the_same_and_forbids_still() -> None:
    sides = [training() for _ in range(2)]
    for side in sides:
        side.quality.add("truncated", 1)
    view = compare(sides[0], ALL, sides[1], ALL)
    row = around(view)["quality"]
    assert (row["baseline"], row["same"], row["severity"]) == ("truncated", True, "warning")
    assert warnings(view) == ["truncated"], "the damage is told once"
    assert confidences(view) == []


def test_other_profiler_options_are_told_and_times_compared() -> None:
    view = compare(training(record_shapes=1), ALL, training(record_shapes=1, with_stack=1), ALL)
    assert (around(view)["recording"]["same"], around(view)["recording"]["severity"]) == (
        False,
        "info",
    )
    assert warnings(view) == []
    assert confidences(view)


def test_lines_of_torch_tell_its_versions_apart() -> None:
    def at(line: int) -> Trace:
        frames = [
            t.frame(f"/venv/torch/nn/modules/module.py({line}): _call_impl", 10, 50, python_id=1),
            # Functions of one name stand at several lines of one version.
            t.frame(f"/venv/torch/nn/modules/linear.py({line}): forward", 70, 5, python_id=2),
        ]
        return t.trace([t.step(0, 0, 100), *frames])

    row = around(compare(at(1501), ALL, at(1518), ALL))["torch"]
    assert (row["same"], row["severity"]) == (False, "info")
    assert "module.py:1501" in row["baseline"]
    assert "module.py:1518" in row["candidate"]
    assert around(compare(at(1501), ALL, at(1501), ALL))["torch"]["same"] is None


def edited(path: Path, edit: Any) -> Trace:
    document = json.loads(gzip.decompress(path.read_bytes()))
    edit(document)
    return t.trace(document.pop("traceEvents"), **document)


def as_it_is(_document: dict[str, Any]) -> None:
    """Nothing is edited."""


def test_v100_against_a100(samples: Path) -> None:
    """The same recording, said to be of another device: the rest stays comparable."""
    (path,) = (samples / "kineto_resnet50_nw0").glob("*6756*.json.gz")

    with open_trace(path, cache=False) as opened:
        base = opened.trace
    named = base.devices.with_columns(pl.lit(A100).alias("name"))
    other = replace(base, devices=named, derived=DerivedValues())
    view = compare(base, ALL, other, ALL)
    assert warnings(view) == ["other_device"]
    assert confidences(view) == []
    assert around(view)["batch"]["baseline"] == "32"
    assert around(view)["device"]["candidate"] == A100
    assert confidences(compare(base, ALL, base, ALL))


def test_eight_ranks_against_four(samples: Path) -> None:
    path = sorted((samples / "dlrm_8_ranks").glob("worker0*.json.gz"))[0]

    def to_four(document: dict[str, Any]) -> None:
        document["distributedInfo"]["world_size"] = 4

    view = compare(edited(path, as_it_is), ALL, edited(path, to_four), ALL)
    assert "other_world_size" in warnings(view)
    assert confidences(view) == []


def test_two_versions_of_torch_are_told_and_compared(corpus: Path) -> None:
    traces = {}
    for version in ("1.9.1", "1.13.1", "2.14.1"):
        (path,) = (corpus / "torch_versions" / version).glob("*.json.gz")
        traces[version] = edited(path, as_it_is)
    for old, new, said in (
        ("1.9.1", "2.14.1", "1.9 against 2.4 or newer"),
        ("1.13.1", "2.14.1", "1.10 to 1.13 against 2.4 or newer"),
    ):
        view = compare(traces[old], ALL, traces[new], ALL)
        (note,) = [note for note in view.notes if note.code == "other_torch"]
        assert note.severity == "info"
        assert said in note.text
        assert view.notes[0].code == "other_torch"
        assert warnings(view) == []
        assert confidences(view)
