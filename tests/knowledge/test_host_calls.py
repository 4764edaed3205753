"""What runtime and driver calls do to the thread that makes them."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import host_calls

ENTRIES = host_calls.host_calls_file().calls


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.examples[0])
def test_an_entry_takes_its_examples(entry: host_calls.HostCall) -> None:
    assert entry.examples
    for name in entry.examples:
        assert host_calls.call_kind(name) == entry.kind, name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("CUDASTREAMSYNCHRONIZE", "synchronize"),
        ("cudaMemcpyAsync", "asynchronous"),
        ("cudaMemcpy", "copy"),
        ("cudaGraphLaunch", "graph"),
        ("cudaStreamWaitEvent", None),
        ("cudaLaunchKernel", None),
        ("cudaEventQuery", None),
        ("cudaMemsetAsync", None),
        ("cudaMalloc", None),
        ("cudaGraphInstantiate", None),
        ("", None),
    ],
)
def test_which_calls_wait_copy_or_launch_graphs(name: str, kind: str | None) -> None:
    assert host_calls.call_kind(name) == kind


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("Activity Buffer Request", True),
        ("Buffer Flush", True),
        ("Instrumentation", True),
        ("Lazy Function Loading", False),
        ("Runtime Triggered Module Loading", False),
        ("Driver Compiler", False),
        ("Command Buffer Full", False),
    ],
)
def test_which_overhead_a_run_without_the_profiler_would_not_have(name: str, is_own: bool) -> None:
    assert host_calls.is_profiler_overhead(name) is is_own


@pytest.mark.parametrize(
    ("name", "fetches"),
    [
        ("aten::item", True),
        ("aten::_local_scalar_dense", True),
        ("aten::nonzero", True),
        ("aten::itemize", False),
        ("my::item", False),
    ],
)
def test_which_operators_fetch_a_value(name: str, fetches: bool) -> None:
    assert host_calls.fetches_value(name) is fetches
