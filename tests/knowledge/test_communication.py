"""Spellings of collectives, what counts as communication on the host, bandwidth factors."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import communication

ENTRIES = communication.communication_file().collectives


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_takes_its_examples(entry: communication.Collective) -> None:
    assert entry.examples
    for name in entry.examples:
        assert communication.collective(name) == entry.name, name


@pytest.mark.parametrize(
    "name",
    [
        "aten::index_select",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
        "## forward ##",
        "",
    ],
)
def test_what_names_no_collective(name: str) -> None:
    assert communication.collective(name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nccl:all_reduce", True),
        ("nccl:_all_gather_base", True),
        ("nccl:send 0->1", True),
        ("gloo:barrier", True),
        ("xccl:reduce_scatter_tensor_coalesced", True),
        ("c10d::allreduce_", False),
        ("record_param_comms", False),
        ("nccl::something", False),
        ("my:all_reduce", False),
        ("aten::all_reduce", False),
    ],
)
def test_which_host_events_are_communication(name: str, expected: bool) -> None:
    assert communication.is_communication(name) is expected


@pytest.mark.parametrize(
    ("backends", "on_host"),
    [
        ("gloo", True),
        ("mpi", True),
        ("cpu:gloo", True),
        ("nccl", False),
        ("cpu:gloo,cuda:nccl", False),
        ("hccl", False),
        ("xccl", False),
        ("undefined", False),
        ("", False),
    ],
)
def test_which_backends_transfer_on_the_host(backends: str, on_host: bool) -> None:
    assert communication.runs_on_host(backends) is on_host


def test_callers_and_records_are_wrappers() -> None:
    assert communication.is_wrapper("record_param_comms")
    assert communication.is_wrapper("c10d::allreduce_")
    assert not communication.is_wrapper("nccl:all_reduce")


@pytest.mark.parametrize(
    ("name", "ranks", "factor"),
    [
        ("all_reduce", 8, 1.75),
        ("all_reduce", 2, 1.0),
        ("all_gather", 8, 0.875),
        ("reduce_scatter", 4, 0.75),
        ("all_to_all", 4, 0.75),
        ("broadcast", 8, 1.0),
        ("reduce", 8, 1.0),
        ("send", 8, 1.0),
        ("recv", 2, 1.0),
        ("send", 0, 1.0),
        ("send", 1, None),
        ("all_reduce", 1, None),
        ("barrier", 8, None),
        ("no_such", 8, None),
    ],
)
def test_bus_bandwidth_factors_of_nccl_tests(name: str, ranks: int, factor: float | None) -> None:
    """Values worked from the formulas of nccl-tests doc/PERFORMANCE.md."""
    assert communication.bus_factor(name, ranks) == factor
