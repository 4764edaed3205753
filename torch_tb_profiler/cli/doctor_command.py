"""``torch-tb-profiler doctor``: what a recording answers, and how to record the rest."""

from __future__ import annotations

import sys
from argparse import Namespace

from torch_tb_profiler.cli.exits import DONE, print_warning
from torch_tb_profiler.cli.output import Output
from torch_tb_profiler.cli.sinks import terminal_width, wants_color
from torch_tb_profiler.cli.tasks import cache_of, print_failure, read_options
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.coverage import recording_coverage
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import checked_rules
from torch_tb_profiler.reports import coverage as text
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.reports.style import COLOURED, PLAIN
from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.questions import Subject


def run(arguments: Namespace) -> int:
    """Print what the recording answers.

    Returns:
        0 if it is printed, 2 for an unknown run, worker or span, 3 if the recording cannot be read.
    """
    progress = Progress()
    subject = Subject(arguments.run, arguments.worker, arguments.span)
    try:
        cache, rules = cache_of(arguments), checked_rules(arguments.rules)
        store = TraceStore(cache=cache, parser=Parser(arguments.workers), rules=rules)
        root = TraceRoot(
            arguments.path, options=read_options(arguments), follows_links=arguments.follow_links
        )
        catalog = Catalog([root], cache=cache, store=store)
        try:
            coverage = when_ready(
                lambda wait_s: recording_coverage(catalog, subject, wait_s), progress.show
            )
            contents = catalog.contents()
        finally:
            store.close()
            progress.wipe()
    except LoadingError as error:
        return print_failure(error)
    for note in contents.notes:
        print_warning(note)
    others = [name for name in contents.runs if name != coverage.trace.run]
    if others and arguments.run is None:
        print_warning(
            f"{len(others)} more runs are in {arguments.path}: choose one of them with --run."
        )
    if arguments.format == "json":
        sys.stdout.buffer.write(encode(coverage) + b"\n")
        return DONE
    style = COLOURED if wants_color(arguments.color) else PLAIN
    width = terminal_width(Output(None, may_replace=True))
    sys.stdout.buffer.write(text.dumps(coverage, width, style).encode("utf-8", "replace"))
    return DONE
