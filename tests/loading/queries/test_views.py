"""Cases: views of one trace, of a run and of a pair; a broken worker is named and left out; waiting
and not waiting; sort and filter of one table; missing, unknown and malformed requests. The views
are tiny ones defined here: the subject is the way to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.views import use_views
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening import parsing
from torch_tb_profiler.loading.queries.view_list import views_answer
from torch_tb_profiler.loading.queries.views import view_result, with_rows
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError, UnknownError
from torch_tb_profiler.requests.questions import Subject, TableQuery, ViewRequest
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

Writer = Callable[..., Path]

NAMES = TableSpec(
    "names",
    "Names",
    "One slice per row.",
    (
        Column("worker", "Worker", "string", None, "Where."),
        Column("name", "Name", "string", None, "What."),
    ),
)


def names_view(traces: Mapping[str, Trace]) -> View:
    rows = [
        (worker, trace.text(code))
        for worker, trace in traces.items()
        for code in trace.slices["name_code"]
    ]
    frame = pl.DataFrame(rows, schema=NAMES.polars_schema(), orient="row")
    return View(tables={"names": Table(NAMES, frame)})


def of_trace(trace: Trace, selection: Selection) -> View:
    selected_steps(trace, selection)
    return names_view({"": trace})


def of_run(traces: Mapping[str, Trace], _selection: Selection) -> View:
    return names_view(traces)


def of_pair(baseline: Trace, _a: Selection, candidate: Trace, _b: Selection) -> View:
    return names_view({"baseline": baseline, "candidate": candidate})


def no_aten(trace: Trace) -> str | None:
    has = any("aten" in str(text) for text in trace.strings)
    return None if has else "the trace has no aten operator"


def only_a_of_others(trace: Trace) -> dict[str, str]:
    return {} if no_aten(trace) is None else {"b": "nothing to group by"}


SPECS = (
    ViewSpec("single", "Single", "?", "trace", (NAMES,), of_trace, ("a", "b"), only_a_of_others),
    ViewSpec("every", "Every", "?", "run", (NAMES,), of_run, missing=no_aten),
    ViewSpec("both", "Both", "?", "pair", (NAMES,), of_pair),
    ViewSpec("aten", "Aten", "?", "trace", (NAMES,), of_trace, missing=no_aten),
    ViewSpec("atens", "Atens", "?", "pair", (NAMES,), of_pair, missing=no_aten),
)


@pytest.fixture(autouse=True)
def _views(monkeypatch: pytest.MonkeyPatch) -> None:
    use_views(monkeypatch, *SPECS)


@pytest.fixture
def catalog(tmp_path: Path, write_trace: Writer) -> Catalog:
    write_trace(tmp_path / "one" / "w0.pt.trace.json", ("aten::mm", "aten::add"))
    write_trace(tmp_path / "one" / "w1.pt.trace.json", ("aten::mul",))
    write_trace(tmp_path / "two" / "w0.pt.trace.json", ("other",))
    return Catalog([TraceRoot(str(tmp_path))], cache=None, rescan_s=0.0)


def rows(view: View) -> list[tuple[object, ...]]:
    return view.tables["names"].frame.rows()


def test_a_view_of_one_trace(catalog: Catalog) -> None:
    request = ViewRequest("single", Subject("one", "w0"))
    result = view_result(catalog, request, wait_s=None)
    assert rows(result.view) == [("", "aten::mm"), ("", "aten::add")]
    found = result.subject
    assert (found.run, found.worker, found.span) == ("one", "w0", "default")


@pytest.mark.parametrize(("run", "missing"), [("one", {}), ("two", {"b": "nothing to group by"})])
def test_groupings_without_anything_to_group_by_have_a_reason(
    catalog: Catalog, run: str, missing: dict[str, str]
) -> None:
    views = views_answer(catalog, Subject(run, "w0"), wait_s=None).views
    entry = next(view for view in views if view.name == "single")
    assert (entry.group_bys, entry.missing_group_bys) == (("a", "b"), missing)


def test_a_view_of_every_worker(catalog: Catalog) -> None:
    result = view_result(catalog, ViewRequest("every", Subject("one")), wait_s=None)
    assert rows(result.view) == [("w0", "aten::mm"), ("w0", "aten::add"), ("w1", "aten::mul")]
    assert result.subject.worker is None
    assert result.view.notes == ()


def test_a_worker_with_nothing_for_the_view_is_part_of_the_run(
    catalog: Catalog, tmp_path: Path, write_trace: Writer
) -> None:
    write_trace(tmp_path / "one" / "w2.pt.trace.json", ("other",))
    result = view_result(catalog, ViewRequest("every", Subject("one")), wait_s=None)
    assert ("w2", "other") in rows(result.view)


@pytest.mark.parametrize("ranks", [None, 1, 2])
def test_a_view_of_a_run_is_offered_for_closed_workers_of_a_job_only(
    catalog: Catalog, tmp_path: Path, write_trace: Writer, ranks: int | None
) -> None:
    """A run without data for it would answer that it has none; an opened worker decides."""
    header = {} if ranks is None else {"distributedInfo": {"rank": 0, "world_size": ranks}}
    for number in (0, 1):
        write_trace(tmp_path / "job" / f"w{number}.pt.trace.json", ("other",), **header)

    def is_offered(run: str) -> bool:
        views = views_answer(catalog, Subject(run, "w0"), wait_s=None).views
        return next(view.available for view in views if view.name == "every")

    assert is_offered("one")
    assert is_offered("job") == (ranks == 2)
    views_answer(catalog, Subject("job", "w1"), wait_s=None)
    assert not is_offered("job")


@pytest.mark.parametrize("reads_summaries", [True, False])
def test_summaries_of_closed_workers_decide_whether_a_view_is_offered(
    catalog: Catalog,
    tmp_path: Path,
    write_trace: Writer,
    monkeypatch: pytest.MonkeyPatch,
    reads_summaries: bool,
) -> None:
    header = {"distributedInfo": {"rank": 0, "world_size": 2}}
    for number in (0, 1):
        write_trace(tmp_path / "job" / f"w{number}.pt.trace.json", ("other",), **header)
    spec = ViewSpec(
        name="summed",
        title="Summed",
        help="",
        scope="run",
        tables=(NAMES,),
        function=of_run,
        missing=lambda _trace: "This run has none.",
        reads_summaries=reads_summaries,
    )
    use_views(monkeypatch, spec)
    assert views_answer(catalog, Subject("job", "w0"), wait_s=None).views[0].available
    files = catalog.workers("job", "", wait_s=None).values()
    catalog.store.gather([(file, "summary") for file in files], None)
    views = views_answer(catalog, Subject("job", "w0"), wait_s=None).views
    assert views[0].available != reads_summaries


def test_a_broken_worker_is_named_and_left_out(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "one" / "w2.pt.trace.json").write_text("no json at all")
    (tmp_path / "one" / "w3.pt.trace.json").touch()
    result = view_result(catalog, ViewRequest("every", Subject("one")), wait_s=None)
    assert {worker for worker, _ in rows(result.view)} == {"w0", "w1"}
    notes = result.view.notes
    assert [(note.kind, note.severity) for note in notes] == [("quality", "warning")] * 2
    assert [note.evidence["worker"] for note in notes] == ["w2", "w3"]
    assert "w2.pt.trace.json" in notes[0].text


def test_a_run_whose_workers_are_all_broken_fails(catalog: Catalog, tmp_path: Path) -> None:
    for number in (0, 1):
        (tmp_path / "one" / f"w{number}.pt.trace.json").write_text("no json at all")
    with pytest.raises(OpenError):
        view_result(catalog, ViewRequest("every", Subject("one")), wait_s=None)


def test_a_view_of_a_pair(catalog: Catalog) -> None:
    request = ViewRequest("both", Subject("two"), baseline=Subject("one", "w1"))
    result = view_result(catalog, request, wait_s=None)
    assert rows(result.view) == [("baseline", "aten::mul"), ("candidate", "other")]
    assert result.baseline is not None
    assert (result.baseline.run, result.baseline.worker) == ("one", "w1")
    with pytest.raises(RequestError) as caught:
        view_result(catalog, ViewRequest("both", Subject("two")), wait_s=None)
    assert "baseline_run" in (caught.value.problem.hint or "")


@pytest.mark.parametrize(
    ("missing", "side"), [("other", "baseline"), ("aten::mul", "candidate"), ("none", "baseline")]
)
def test_a_missing_key_node_is_reported_with_its_side(
    catalog: Catalog, missing: str, side: str
) -> None:
    by = Selection(iterations_by=f"name:{missing}")
    subjects = Subject("two", selection=by), Subject("one", "w1", selection=by)
    with pytest.raises(UnknownError) as caught:
        view_result(catalog, ViewRequest("both", subjects[0], baseline=subjects[1]), wait_s=None)
    assert f"There is no key node '{missing}' in the {side}." in caught.value.problem.message


def test_tables_that_are_not_requested_are_left_out() -> None:
    frame = pl.DataFrame({"worker": ["a", "b"], "name": ["x", "y"]})
    view = View(tables={name: Table(NAMES, frame) for name in ("first", "second", "third")})
    some = with_rows(view, TableQuery(table="third", limit=1, only=("second", "third")))
    assert {name: table.frame.height for name, table in some.tables.items()} == {
        "second": 2,
        "third": 1,
    }
    assert with_rows(view, TableQuery(limit=0, only=("second",))).tables["second"].row_count == 2
    with pytest.raises(RequestError, match="leaves out"):
        with_rows(view, TableQuery(table="first", only=("second",)))


def test_one_table_is_sorted_filtered_and_cut(catalog: Catalog) -> None:
    query = TableQuery(sort="-name", filter="name~aten", limit=1)
    result = view_result(catalog, ViewRequest("single", Subject("one"), rows=query), wait_s=None)
    assert rows(result.view) == [("", "aten::mm")]
    assert result.view.tables["names"].row_count == 2


@pytest.mark.parametrize(
    ("request_", "error", "code"),
    [
        (ViewRequest("sngle"), UnknownError, "unknown_view"),
        (ViewRequest("single", rows=TableQuery(table="x")), UnknownError, "unknown_table"),
        (ViewRequest("single", rows=TableQuery(only=("x",))), UnknownError, "unknown_table"),
        (ViewRequest("single", rows=TableQuery(sort="x")), RequestError, "bad_parameter"),
        (ViewRequest("single", rows=TableQuery(filter="x=1")), RequestError, "bad_parameter"),
        (ViewRequest("single", Subject(selection=Selection(steps="7"))), RequestError, None),
        (ViewRequest("single", Subject(selection=Selection(group_by="c"))), RequestError, None),
        (ViewRequest("aten", Subject("two")), RequestError, "view_unavailable"),
        (ViewRequest("every", Subject("two")), RequestError, "view_unavailable"),
        (ViewRequest("single", Subject("three")), UnknownError, "unknown_run"),
    ],
)
def test_what_cannot_be_result(
    catalog: Catalog, request_: ViewRequest, error: type[LoadingError], code: str | None
) -> None:
    with pytest.raises(error) as caught:
        view_result(catalog, request_, wait_s=None)
    problem = caught.value.problem
    assert problem.code == (code or "bad_parameter")
    assert problem.message


def test_the_reason_of_a_missing_view_is_reported(catalog: Catalog) -> None:
    with pytest.raises(RequestError, match="no aten operator"):
        view_result(catalog, ViewRequest("aten", Subject("two")), wait_s=None)


def test_missing_data_is_reported_with_its_side(catalog: Catalog) -> None:
    for baseline, candidate, side in (("two", "one", "baseline"), ("one", "two", "candidate")):
        request = ViewRequest("atens", Subject(candidate), baseline=Subject(baseline))
        with pytest.raises(RequestError, match=f"no aten operator That is the {side}"):
            view_result(catalog, request, wait_s=None)


def test_asking_starts_the_parsing_and_does_not_wait(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "open_trace_file", _never)
    catalog.contents()
    with pytest.raises(NotReadyError) as caught:
        view_result(catalog, ViewRequest("every", Subject("one")), wait_s=0.0)
    assert caught.value.status.state in ("queued", "parsing")
    assert caught.value.status.file == "2 files"
    catalog.store.close()


def _never(*_arguments: object, progress: Callable[[int, int], None], **_options: object) -> None:
    while True:  # until the store is closed: then progress raises
        time.sleep(0.01)
        progress(0, 1)
