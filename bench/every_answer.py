"""Everything that can be asked of some recordings: every view with every grouping, parameter and
part, every route of the timeline, every report, every comparison.

What is asked does not depend on a view's name: a new view, parameter or route is asked too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

from werkzeug.test import Client

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.reports import csv, json, markdown, terminal
from torch_tb_profiler.reports.brief import markdown as brief_markdown
from torch_tb_profiler.reports.brief import terminal as brief_terminal
from torch_tb_profiler.reports.brief.content import brief_of
from torch_tb_profiler.reports.dlprof.registry import KINDS, NEEDS
from torch_tb_profiler.reports.dlprof.writing import WRITERS
from torch_tb_profiler.reports.scalars.values import ScalarSeries
from torch_tb_profiler.reports.two_sides import on_two_sides
from torch_tb_profiler.reports.xlsx import Sheet
from torch_tb_profiler.reports.xlsx import dumps as xlsx_of
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.parameters import view_request
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.parameters import Parameter
from torch_tb_profiler.views.querying import complete
from torch_tb_profiler.views.registry import VIEW_NAMES, all_views

RUN, SPAN = "run", "1"
Asked = Mapping[str, str]

FORMATS: dict[str, Callable[[ViewResult], object]] = {
    "json": json.dumps,
    "terminal": lambda result: terminal.dumps(result.spec, on_two_sides(result.view), "odd"),
    "markdown": lambda result: markdown.dumps(result.spec, result.view, "odd"),
    "csv": lambda result: [csv.dumps(complete(table)) for table in result.view.tables.values()],
    "xlsx": lambda result: xlsx_of(
        [("odd", note.text) for note in result.view.notes],
        [Sheet(name, complete(table)) for name, table in result.view.tables.items()],
    ),
}
"""What a view is written as."""


class Recordings:
    """Recordings of one run that are open: their traces are given, nothing is read.

    A context manager; ``failures`` are the errors that the server did not expect.
    """

    def __init__(self, folder: Path, traces: Mapping[str, Trace]) -> None:
        """``folder`` takes a file for each of the names of workers in ``traces``."""
        self.traces = dict(traces)
        (folder / RUN).mkdir(exist_ok=True)
        for path in (folder / RUN).iterdir():
            path.unlink()
        for worker in traces:
            (folder / RUN / f"{worker}.{SPAN}.pt.trace.json").write_text('{"traceEvents": []}')
        parser: Any = _Given(self.traces)
        store = TraceStore(cache=None, parser=parser)
        self.catalog = Catalog([TraceRoot(str(folder))], cache=None, store=store)
        self._client = Client(standalone_app(Site(self.catalog, "standalone")))
        self.failures: list[BaseException] = []
        self._handler = _Handler(self.failures)

    def __enter__(self) -> Recordings:
        logging.getLogger(standalone_app.__module__).addHandler(self._handler)
        return self

    def __exit__(self, *_exception: object) -> None:
        logging.getLogger(standalone_app.__module__).removeHandler(self._handler)
        self.catalog.store.close()

    def get(self, path: str, asked: Asked) -> tuple[int, bytes]:
        """Status and body of an answer of the server."""
        url = f"/api/{path}?{urlencode(asked, errors='replace')}"
        response = self._client.get(url, headers={"Host": "localhost"})
        while response.status_code == 202:
            response = self._client.get(url, headers={"Host": "localhost"})
        if self.failures:
            raise self.failures.pop()
        return response.status_code, response.data

    def view(self, name: str, asked: Asked) -> ViewResult | None:
        """The answer of a view; None where it says why there is none."""
        try:
            return view_result(self.catalog, view_request(name, asked), wait_s=None)
        except LoadingError as error:
            if error.problem.code == "internal":
                raise
            return None


class _Given:
    """Takes the place of what reads files (``loading.opening.parsing.Parser``)."""

    workers = 1

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._traces = traces

    def announce(self, size_bytes: int) -> None:
        """Nothing waits."""

    def open(self, location: Any, known: Any, **_options: object) -> OpenedFile:
        """The trace of a file."""
        return OpenedFile(self._traces[location.name.partition(".")[0]], known)


class _Handler(logging.Handler):
    def __init__(self, failures: list[BaseException]) -> None:
        super().__init__(logging.ERROR)
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._failures.append(record.exc_info[1])


def parts(trace: Trace, choice: Random) -> list[Asked]:
    """Parts of a trace that can be selected: all of it first; by names of its own, too."""
    steps = trace.steps["name"].to_list()
    names = _names(trace)
    first, last = trace.meta.start_ns / NS_PER_US, trace.meta.end_ns / NS_PER_US
    a, b = sorted(choice.uniform(first, last) for _ in range(2))
    chosen = choice.choice(steps)[:4000] if steps else "0"
    listed: list[dict[str, str]] = [
        {},
        {"start_us": repr(a), "end_us": repr(b)},
        {"start_us": repr(last + 5)},
        {"steps": chosen},
        {"steps": "last 2"},
        {"iterations_by": "auto"},
        {"iterations_by": "steps", "steps": chosen, "end_us": repr(b)},
        {"iterations_by": f"name:{choice.choice(names)}"},
        {"iterations_by": f"start:{choice.choice(names)}", "steps": "first 2"},
        {"forward_start": choice.choice(names), "backward_end": choice.choice(names)},
    ]
    listed += [{"phase": phase} for phase in ("forward", "backward", "optimizer")]
    return list(listed)


def _names(trace: Trace) -> list[str]:
    codes = trace.slices["name_code"].unique()[:50].to_list()
    return [text[:4000] for code in codes if (text := trace.text(code)) and text.strip()] or ["*"]


def own_values(parameter: Parameter, trace: Trace, choice: Random) -> list[str]:
    """Texts that a parameter of a view may have."""
    meta = trace.meta
    if parameter.type == "choice":
        return list(parameter.choices)
    if parameter.type == "time_us":
        return [repr(choice.uniform(meta.start_ns, meta.end_ns) / NS_PER_US), "0"]
    if parameter.type == "number":
        return ["0", "3"]
    name = choice.choice(_names(trace))
    if parameter.key == "what_if":
        return [f"{name}:{change}" for change in ("halve", "remove", "overlap")]
    if parameter.key == "peak":
        return ["float32=20,bandwidth_gb_per_s=1000"]
    step = trace.steps["name"].to_list()[:1]
    return list(dict.fromkeys([name, "0", *(text[:4000] for text in step)]))


def view_questions(trace: Trace, choice: Random) -> Iterator[tuple[str, Asked]]:
    """Views, and what is asked of them."""
    for spec in all_views().values():
        pair = {"baseline_worker": "w1"} if spec.scope == "pair" else {}
        for group_by in spec.group_bys or ("",):
            grouped = {"group_by": group_by} if group_by else {}
            yield spec.name, pair | grouped
        for part in parts(trace, choice)[1:]:
            grouped = {"group_by": choice.choice(spec.group_bys)} if spec.group_bys else {}
            yield spec.name, pair | grouped | dict(part)
        for parameter in spec.parameters:
            for text in own_values(parameter, trace, choice):
                yield spec.name, pair | {parameter.key: text}
        for table in spec.tables:
            column = choice.choice(table.columns).key
            yield spec.name, pair | {"table": table.name, "sort": f"-{column}", "limit": "3"}


def route_questions(trace: Trace, choice: Random) -> Iterator[tuple[str, Asked]]:
    """Routes of the server that are about a trace, and what is asked of them."""
    span = max(1, trace.meta.end_ns - trace.meta.start_ns)
    a, b = sorted(choice.uniform(0, span) for _ in range(2))
    inner = {"start_ns": repr(a), "end_ns": repr(b)}
    width = {"width_px": "800"}
    levels = {"levels": "modules:3,ranges:8,scopes:2"}
    slices = [str(choice.randrange(trace.slices.height)) for _ in range(3) if trace.slices.height]
    slices += ["0", str(max(0, trace.slices.height - 1))]
    yield "runs", {}
    yield "views", {}
    for path in ("timeline", "timeline/tracks", "timeline/range", "timeline/gaps", "timeline/steps",
                 "timeline/critical_path", "timeline/clocks"):  # fmt: skip
        for more in ({}, inner, levels, {"steps": "last 1"}, {"iterations_by": "auto"}):
            yield path, (width if path == "timeline" else {}) | more
    yield "timeline/range", inner | {"tracks": "steps"}
    yield "timeline/names", {"from": "0"}
    yield "timeline/names", {"codes": "0,1,2,3000000000"}
    for query in (choice.choice(_names(trace)), "", ".", "/mm|add/", "a\0", "=1"):
        yield "timeline/search", {"q": query, "from_ns": repr(a)}
    yield "timeline/search", {"name_code": "0", "from_slice": "0"}
    for slice_id in dict.fromkeys(slices):
        yield f"slice/{slice_id}", {}
        yield "timeline/namesakes", {"slice": slice_id}
        yield "timeline/flows", {"slice": slice_id, "peers": "1"}
    for part in parts(trace, choice):
        yield "perfetto", part
    notes = {"notes": f"5 a note\n{span}@0 another"}
    yield "report.html", {"views": ",".join(VIEW_NAMES)} | notes
    yield "report.html", {"baseline_worker": "w1"}


def report_questions(recordings: Recordings) -> Iterator[tuple[str, Callable[[], object]]]:
    """Outputs that are more than a view: a name, and what makes it."""
    yield "briefs", lambda: briefs_of(recordings)
    for worker, trace in recordings.traces.items():
        yield f"scalars of {worker}", partial(scalars_of, trace)
    yield "DLProf", lambda: list(dlprof_files(recordings))


def briefs_of(recordings: Recordings) -> list[str]:
    """The overview on one screen, of a terminal and as Markdown."""
    overview = recordings.view("overview", {})
    if overview is None:
        return []
    briefs = [brief_of(overview)] * 2
    return [brief_terminal.dumps(briefs, 0, 100), brief_markdown.dumps(briefs, 0)]


def scalars_of(trace: Trace) -> object:
    """The curves of a trace."""
    series = ScalarSeries()
    series.add(trace, 0, 0.0)
    return series.scalars(), series.reasons()


def dlprof_files(recordings: Recordings) -> Iterator[bytes]:
    """DLProf's reports in every format."""
    views = {}
    for name, need in NEEDS.items():
        asked = {"table": need.table, "group_by": need.group_by}
        result = recordings.view(need.view or name, {k: v for k, v in asked.items() if v})
        if result is not None:
            views[name] = result.view
    for kind in KINDS.values():
        if all(name in views for name in kind.views):
            own = {name: views[name] for name in (*kind.views, *kind.wishes) if name in views}
            report = kind.make(own)
            yield from (write(report) for write in WRITERS.values())
