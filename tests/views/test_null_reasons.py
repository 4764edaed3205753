"""Reasons are true of the recording: nobody else is told the options of torch.profiler.

Made-up traces of every recorder, bare of all that can be absent, are shown in every view; all texts
of reasons, notes and findings are looked through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import pytest

from tests.helpers.recorded import recorded
from tests.helpers.traces import Event, annotation, call, kernel, memcpy, op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import evidence_tables, run_detectors
from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.knowledge.recorders import recorder_named
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec

TORCH_OPTIONS = re.compile(
    r"(?<!emit_nvtx\()\b(record_shapes|with_stack|profile_memory|with_modules)\b|schedule\("
    r"|ProfilerActivity|prof\.step|prof\.add_metadata|torch\.profiler|Kineto|_ExperimentalConfig"
)
"""What a user tells torch.profiler, and nobody else."""
OTHERS = ("Nsight Systems", "paddle.profiler", None)
"""Of a recorder with options, of one with options that are called alike, and of an unknown one."""


def launched(name: str, ts: float, corr: int) -> list[Event]:
    return [call("cudaLaunchKernel", ts, 2, corr=corr), kernel(name, ts + 5, 20, corr=corr)]


KINDS: dict[str, list[Event]] = {
    "operators": [op("aten::mm", 0, 900), *launched("gemm", 10, 1), *launched("gemm", 500, 2)],
    "ranges": [annotation("step", 0, 2000), *launched("gemm", 10, 1), memcpy(60, 9)],
    "kernels": [kernel("gemm", 0, 10), kernel("ncclDevKernel_AllReduce", 900, 50)],
    "calls": [call("cudaLaunchKernel", 0, 3), call("cudaDeviceSynchronize", 9, 500)],
    "host": [op("conv2d", 0, 10), op("relu", 20, 30), op("conv2d", 70, 10)],
    "nothing": [],
}


def texts(view: View) -> Iterator[str]:
    for table in view.tables.values():
        yield from table.null_reasons.values()
    yield from (fact.reason or "" for fact in view.facts)
    yield from (json.dumps([note.text, note.evidence]) for note in view.notes)


def shown(spec: ViewSpec, trace: Trace) -> View:
    if spec.scope == "run":
        return spec.function({"worker": trace}, Selection())  # type: ignore[arg-type, call-arg]
    if spec.scope == "pair":
        return spec.function(trace, Selection(), trace, Selection())  # type: ignore[arg-type]
    return spec.function(trace, Selection())  # type: ignore[arg-type, call-arg]


def foreign(actual: Iterable[str], name: str | None) -> list[str]:
    """The texts that name options of torch.profiler that are not the recorder's own too."""
    own = recorder_named(name).records.values()
    stripped = [re.sub("|".join(map(re.escape, own)) or "$", "", text) for text in actual]
    return [text for text in stripped if TORCH_OPTIONS.search(text)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OTHERS)
def test_no_reason_names_options_of_another_recorder(kind: str, name: str | None) -> None:
    trace = recorded(KINDS[kind], recorder=name)
    for spec in all_views().values():
        missing = spec.missing(trace)
        actual = [missing] if missing is not None else [*texts(shown(spec, trace))]
        assert foreign(actual, name) == [], spec.name
    advice = run_detectors(trace, Selection())
    actual = [json.dumps([note.text, note.evidence["links"]]) for note in advice.notes]
    actual += advice.checks.frame["reason"].drop_nulls().to_list()
    assert foreign(actual, name) == []


def test_findings_have_words_for_other_recorders() -> None:
    for code, known in entries().items():
        assert code in evidence_tables()
        said = known.texts | known.elsewhere
        assert set(known.elsewhere) <= set(known.texts), code
        assert [text for text in said.values() if TORCH_OPTIONS.search(text)] == [], code
        assert not any("profiler.html" in link for link in known.links), code


def test_of_torch_the_options_are_named() -> None:
    trace = recorded(KINDS["operators"])
    specs = all_views()
    assert "profile_memory=True" in str(specs["memory"].missing(trace))
    assert "with_stack=True" in str(specs["modules"].missing(trace))
