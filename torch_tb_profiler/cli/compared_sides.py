"""The recordings that ``compare`` compares: one of each side, or all of two sides in pairs."""

from __future__ import annotations

from argparse import Namespace

from msgspec import Struct

from torch_tb_profiler.cli.baseline_mark import mark_baseline, marked_baseline
from torch_tb_profiler.cli.exits import print_message, print_warning
from torch_tb_profiler.cli.tasks import Task, read_options
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import OpenError, RequestError
from torch_tb_profiler.requests.side_names import LABELS
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.views.compare.repeated_gate import LEAST_RECORDINGS, pairs
from torch_tb_profiler.views.compare.view import SPEC
from torch_tb_profiler.views.parameters import SELECTION

BASELINE, CANDIDATE, THIRD = LABELS


class ComparedSides(Struct, frozen=True):
    """The recordings of the sides, and what is asked about them.

    Attributes:
        catalog: Where they are.
        query: What the command line says of the selection and of rows.
        baselines, candidates: The recordings of each; one unless they are repeated.
        thirds: That of the third side, if there is one.
    """

    catalog: Catalog
    query: dict[str, str]
    baselines: list[SpanFile]
    candidates: list[SpanFile]
    thirds: list[SpanFile]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions of the recordings that are compared with each other."""
        return pairs(len(self.baselines), len(self.candidates))

    def task(self, baseline: int, candidate: int) -> Task:
        """The comparison of two recordings, by their positions."""
        files = {f"{BASELINE}_": self.baselines[baseline], "": self.candidates[candidate]}
        files |= {f"{THIRD}_": file for file in self.thirds}
        names = {
            prefix + key: value
            for prefix, file in files.items()
            for key, value in (("run", file.run), ("worker", file.worker), ("span", file.span))
        }
        request = parameters.view_request(SPEC.name, {**names, **self.query})
        return Task(SPEC, request, self.catalog)


def compared_sides(arguments: Namespace, cache: CacheFolder | None) -> ComparedSides:
    """The sides of a command line.

    Raises:
        LoadingError: a side has no trace, none of the requested names, or too few to be repeated.
    """
    options, rules = read_options(arguments), checked_rules(arguments.rules)
    roots = [
        TraceRoot(path, label, options, arguments.follow_links)
        for path, label in zip(_paths(arguments, cache), LABELS, strict=False)
    ]
    store = TraceStore(cache=cache, parser=Parser(arguments.workers), rules=rules)
    catalog = Catalog(roots, cache=cache, store=store)
    query: dict[str, str] = {}
    sides: dict[str, list[SpanFile]] = {}
    for label, root in zip(LABELS, roots, strict=False):
        prefix = "" if label == CANDIDATE else f"{label}_"
        sides[label] = _files_of(catalog, root, arguments, prefix)
        selection = {
            each.key: getattr(arguments, f"{prefix}{each.key}", None)
            for each in SELECTION
            if each.has_baseline_option
        }
        query.update({f"{prefix}{key}": str(value) for key, value in selection.items()
                      if value is not None})  # fmt: skip
    if arguments.group_by is not None:
        query["group_by"] = arguments.group_by
    return ComparedSides(catalog, query, sides[BASELINE], sides[CANDIDATE], sides.get(THIRD, []))


def _paths(arguments: Namespace, cache: CacheFolder | None) -> list[str]:
    """The paths of the sides: with one alone, that of the marked baseline comes before it.

    Raises:
        RequestError: no baseline is marked, or it cannot be.
    """
    paths: list[str] = [arguments.baseline, *filter(None, (arguments.candidate, arguments.third))]
    if arguments.mark_baseline:
        folder = mark_baseline(cache, paths[0])
        print_message(f"{paths[0]} is the baseline of {folder}.")
    if len(paths) == 1:
        paths.insert(0, marked_baseline(cache, paths[0]))
        print_message(f"Baseline: {paths[0]}")
    return paths


def _files_of(
    catalog: Catalog, root: TraceRoot, arguments: Namespace, prefix: str
) -> list[SpanFile]:
    """The recordings of one side: if they are repeated all that the command line names, else the
    named one, or the first with a warning about the others."""
    run, worker, span = (
        getattr(arguments, prefix + key, None) for key in ("run", "worker", "span")
    )
    own = [file for file in catalog.contents().files() if file.run.startswith(f"{root.label}/")]
    if not own:
        problem = catalog.problem_of(root) or StorageError("no_traces", "There is no trace.")
        raise OpenError.of(problem)
    if arguments.repeats:
        return _repeated(root, own, (run, worker, span))
    chosen = catalog.file(f"{root.label}/{run}" if run else own[0].run, worker, span)
    if len(own) > 1 and run is worker is span is None:
        option = prefix.replace("_", "-")
        how = f"Choose with --{option}run, --{option}worker, --{option}span."
        how = "Name its file to choose another." if root.label == THIRD else how
        print_warning(
            f"{root.shown_url} holds {len(own)} traces; using {chosen.location.name}. {how}"
        )
    return [chosen]


def _repeated(
    root: TraceRoot, own: list[SpanFile], wanted: tuple[str | None, str | None, str | None]
) -> list[SpanFile]:
    run, worker, span = wanted
    named = (f"{root.label}/{run}" if run else None, worker, span)
    chosen = [
        file
        for file in own
        if all(
            name is None or name == its
            for name, its in zip(named, (file.run, file.worker, file.span), strict=True)
        )
    ]
    if len(chosen) < LEAST_RECORDINGS:
        raise RequestError(
            "bad_parameter",
            f"--repeats needs {LEAST_RECORDINGS} recordings or more of each side; "
            f"{root.shown_url} holds {len(chosen)}.",
            "Record the program several times into one folder per side, or leave --repeats out.",
        )
    return chosen
