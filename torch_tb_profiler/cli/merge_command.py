"""``torch-tb-profiler merge``: chosen ranks of a run as one Chrome JSON."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from isal import isal_zlib

from torch_tb_profiler.cli.exits import DONE, print_message, print_warning
from torch_tb_profiler.cli.output import Output, writing_errors
from torch_tb_profiler.cli.tasks import cache_of, print_failure, read_options
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.merged import merge
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports.chrome_merged import merged_json
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.merge import Merge
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.quality_notes import listed

STDOUT = "-"
SELECTED = ("run", "span", "steps", "start_us", "end_us", "iterations_by")
GZIP_LEVEL, GZIP_WBITS = 1, 31


def run(arguments: Namespace) -> int:
    """Write the file.

    Returns:
        0 if it is written, 2 for a wrong request or a file that exists, 3 if a trace cannot be
        read; then no file remains.
    """
    output = _output(arguments)
    progress = Progress()
    try:
        cache, rules = cache_of(arguments), checked_rules(arguments.rules)
        store = TraceStore(cache=cache, parser=Parser(arguments.workers), rules=rules)
        root = TraceRoot(
            arguments.path, options=read_options(arguments), follows_links=arguments.follow_links
        )
        catalog = Catalog([root], cache=cache, store=store)
        given = {name: getattr(arguments, name) for name in SELECTED}
        subject = parameters.subject({name: text for name, text in given.items() if text})
        try:
            with writing_errors(arguments.output) as written:
                output.refuse_existing(())
                merged = when_ready(
                    lambda wait_s: merge(catalog, subject, arguments.ranks, wait_s), progress.show
                )
                progress.wipe()
                pieces = merged_json(merged)
                is_packed = arguments.output.endswith(".gz")
                output.stream(_packed(pieces) if is_packed else pieces)
                _describe(merged)
            return max(DONE, written.code)
        finally:
            store.close()
    except LoadingError as error:
        return print_failure(error)
    finally:
        progress.wipe()


def _output(arguments: Namespace) -> Output:
    if arguments.output == STDOUT:
        return Output(None, may_replace=True)
    path = Path(arguments.output)
    return Output(str(path.parent), may_replace=arguments.force, file=path.name)


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WBITS)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _describe(merged: Merge) -> None:
    """Say how certain the clocks are."""
    known = [each.uncertainty_ns for each in merged.ranks[1:] if each.uncertainty_ns is not None]
    ranks = "1 rank" if len(merged.ranks) == 1 else f"{len(merged.ranks)} ranks"
    clocks = f", clocks aligned within {max(known) / NS_PER_US:.3g} µs (est.)" if known else ""
    print_message(f"{ranks} of {merged.run}{clocks}.")
    apart = [each.worker for each in merged.ranks if not each.is_aligned]
    if apart:
        print_warning(
            f"{listed(apart)}: no collective connects their clocks with that of "
            f"{merged.ranks[0].worker}; they are written by their recorded clocks."
        )
