"""Short names of kernels in the answers of timeline and slice: beside the recorded name, null of
what is no kernel."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.server.test_timeline import Ask, Event, decoded, serve, write

MANGLED = (
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_"
)
SHORT = "reduce<512, 1, Mean<float>>"
OPERATOR = "aten::mean"
ARGS = {"correlation": 1, "device": 0, "stream": 7}
EVENTS: list[Event] = [
    {"cat": "cpu_op", "name": OPERATOR, "ts": 100, "dur": 50},
    {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 110, "dur": 5, "args": ARGS},
    {"cat": "kernel", "name": MANGLED, "pid": 0, "tid": 7, "ts": 200, "dur": 90, "args": ARGS},
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    path = write(tmp_path_factory.mktemp("logs") / "w.pt.trace.json", EVENTS)
    return serve(path.parent, ["w"])


def test_screens_have_them_beside_the_names(ask: Ask) -> None:
    head, _ = decoded(ask("timeline?start_ns=0&end_ns=300000&width_px=300").data)
    shorts = dict(zip(head["names"], head["short_names"], strict=True))
    assert shorts[MANGLED] == SHORT
    assert shorts[OPERATOR] is None


def test_names_by_code_and_in_pages(ask: Ask) -> None:
    page = ask("timeline/names?from=0").get_json()
    shorts = dict(zip(page["names"], page["short_names"], strict=True))
    assert (shorts[MANGLED], shorts[OPERATOR]) == (SHORT, None)
    codes = ",".join(map(str, page["codes"]))
    assert ask(f"timeline/names?codes={codes}").get_json()["short_names"] == page["short_names"]


def test_search_range_and_arrows(ask: Ask) -> None:
    found = ask("timeline/search?q=reduce_kernel").get_json()
    assert [(name["name"], name["short_name"]) for name in found["names"]] == [(MANGLED, SHORT)]
    assert [hit["short_name"] for hit in found["hits"]] == [SHORT]
    summary = ask("timeline/range?start_ns=0&end_ns=300000").get_json()
    assert [kernel["short_name"] for kernel in summary["kernels"]] == [SHORT]
    assert [operator["short_name"] for operator in summary["operators"]] == [None]
    flows = ask(f"timeline/flows?slice={found['hits'][0]['id']}").get_json()
    assert flows["slice"]["short_name"] == SHORT


def test_a_kernel_is_found_by_any_of_its_names(ask: Ask) -> None:
    for query in ("Mean<float>", "at::native::MeanOps", "13reduce_kernel", f"={SHORT}"):
        found = ask(f"timeline/search?q={quote(query)}").get_json()
        assert [name["name"] for name in found["names"]] == [MANGLED], query


def test_a_slice_and_what_it_is_linked_to(ask: Ask) -> None:
    found = ask("timeline/search?q=reduce_kernel").get_json()
    kernel = ask(f"slice/{found['hits'][0]['id']}").get_json()["slice"]
    assert (kernel["name"], kernel["short_name"]) == (MANGLED, SHORT)
    assert kernel["demangled_name"].startswith("void at::native::reduce_kernel<512, 1, ")
    (owner,) = kernel["links"]["owner"]["slices"]
    assert (owner["name"], owner["short_name"]) == (OPERATOR, None)
    operator = ask(f"slice/{owner['id']}").get_json()["slice"]
    assert (operator["short_name"], operator["demangled_name"]) == (None, None)
    assert [each["short_name"] for each in operator["links"]["device_work"]["slices"]] == [SHORT]
