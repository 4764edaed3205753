"""Short and demangled kernel names in the answers of timeline and slice, next to the recorded name;
null for other slices and names that are not mangled."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.server.test_timeline import Ask, Event, decoded, serve, write

MANGLED = (
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_"
)
SHORT = "reduce<512, 1, Mean<float>>"
DEMANGLED = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
    "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >"
    "(at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, "
    "unsigned int, float, 4, 4>)"
)
PLAIN = "plain_kernel"
OPERATOR = "aten::mean"
ARGS = {"correlation": 1, "device": 0, "stream": 7}
EVENTS: list[Event] = [
    {"cat": "cpu_op", "name": OPERATOR, "ts": 100, "dur": 50},
    {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 110, "dur": 5, "args": ARGS},
    {"cat": "kernel", "name": MANGLED, "pid": 0, "tid": 7, "ts": 200, "dur": 90, "args": ARGS},
    {"cat": "kernel", "name": PLAIN, "pid": 0, "tid": 7, "ts": 295, "dur": 5, "args": ARGS},
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    path = write(tmp_path_factory.mktemp("logs") / "w.pt.trace.json", EVENTS)
    return serve(path.parent, ["w"])


def test_screens_have_short_names(ask: Ask) -> None:
    head, _ = decoded(ask("timeline?start_ns=0&end_ns=300000&width_px=300").data)
    shorts = dict(zip(head["names"], head["short_names"], strict=True))
    assert shorts[MANGLED] == SHORT
    assert shorts[OPERATOR] is None
    demangled = dict(zip(head["names"], head["demangled_names"], strict=True))
    assert demangled[MANGLED] == DEMANGLED[:160]
    assert (demangled[PLAIN], demangled[OPERATOR]) == (None, None)


def test_names_by_code_and_in_pages(ask: Ask) -> None:
    page = ask("timeline/names?from=0").get_json()
    shorts = dict(zip(page["names"], page["short_names"], strict=True))
    assert (shorts[MANGLED], shorts[OPERATOR]) == (SHORT, None)
    demangled = dict(zip(page["names"], page["demangled_names"], strict=True))
    assert (demangled[MANGLED], demangled[PLAIN], demangled[OPERATOR]) == (DEMANGLED, None, None)
    codes = ",".join(map(str, page["codes"]))
    result = ask(f"timeline/names?codes={codes}").get_json()
    for key in ("short_names", "demangled_names"):
        assert result[key] == page[key]


def test_search_range_and_arrows(ask: Ask) -> None:
    actual = ask("timeline/search?q=reduce_kernel").get_json()
    assert [(name["name"], name["short_name"]) for name in actual["names"]] == [(MANGLED, SHORT)]
    assert [name["demangled_name"] for name in actual["names"]] == [DEMANGLED]
    assert [hit["short_name"] for hit in actual["hits"]] == [SHORT]
    assert [hit["demangled_name"] for hit in actual["hits"]] == [DEMANGLED]
    summary = ask("timeline/range?start_ns=0&end_ns=200000").get_json()
    columns = [column["key"] for column in summary["slices"]["columns"]]
    rows = [dict(zip(columns, row, strict=True)) for row in summary["slices"]["rows"]]
    kernels = [row for row in rows if row["kind"] == "Kernel"]
    assert [row["short_name"] for row in kernels] == [SHORT, PLAIN]
    assert [row["demangled_name"] for row in kernels] == [DEMANGLED, None]
    assert [row["short_name"] for row in rows if row["kind"] == "Operator"] == [None]
    flows = ask(f"timeline/flows?slice={actual['hits'][0]['id']}").get_json()
    assert flows["slice"]["short_name"] == SHORT


def test_search_matches_all_names_of_a_kernel(ask: Ask) -> None:
    for query in ("Mean<float>", "at::native::MeanOps", "13reduce_kernel", f"={SHORT}"):
        actual = ask(f"timeline/search?q={quote(query)}").get_json()
        assert [name["name"] for name in actual["names"]] == [MANGLED], query


def test_a_slice_and_its_links(ask: Ask) -> None:
    actual = ask("timeline/search?q=reduce_kernel").get_json()
    kernel = ask(f"slice/{actual['hits'][0]['id']}").get_json()["slice"]
    assert (kernel["name"], kernel["short_name"]) == (MANGLED, SHORT)
    assert kernel["demangled_name"].startswith("void at::native::reduce_kernel<512, 1, ")
    (owner,) = kernel["links"]["owner"]["slices"]
    assert (owner["name"], owner["short_name"]) == (OPERATOR, None)
    operator = ask(f"slice/{owner['id']}").get_json()["slice"]
    assert (operator["short_name"], operator["demangled_name"]) == (None, None)
    work = operator["links"]["device_work"]["slices"]
    assert [each["short_name"] for each in work] == [SHORT, PLAIN]
    assert [each["demangled_name"] for each in work] == [DEMANGLED, None]
