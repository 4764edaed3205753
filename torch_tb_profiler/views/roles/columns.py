"""The declared tables of the view of roles."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

_WORKER = Column("worker", "Worker", "string", None, "Worker of the rank.")
_ROLE = Column("role", "Role", "string", None, "Role in the job.")


def _time(key: str, title: str, text: str, family: str = "time") -> Column:
    return Column(key, title, "number", "us", text, family=family)


ROLES = TableSpec(
    "roles",
    "Roles",
    "One row per role of the job. Times are means over its ranks.",
    (
        _ROLE,
        Column("ranks", "Ranks", "string", None, "Its ranks; of unnumbered ones the workers."),
        Column("workers", "Count", "integer", "count", "Number of its ranks."),
        Column(
            "known_by",
            "Known By",
            "string",
            None,
            "What says the role: name of the worker, ranges, windows of the server's scheduler, or "
            "kernels that only such a role runs.",
        ),
        _time(
            "window_us",
            "In Role",
            "Recorded time in the role: of a rank with one role its whole recording, else the "
            "ranges of the role.",
        ),
        _time("busy_us", "Busy", "Either runs. Copies do not count."),
        Column("busy_pct", "Busy", "number", "pct", "Busy of In Role."),
        _time("bubble_us", "Bubble", "Neither runs."),
        Column("bubble_pct", "Bubble", "number", "pct", "Bubble of In Role."),
        _time(
            "waiting_us", "While Others Work", "Bubble during which ranks in other roles are busy."
        ),
        Column("waiting_pct", "While Others Work", "number", "pct", "Of In Role."),
        Column(
            "other", "Mostly Busy Then", "string", None, "The role that is busy for most of it."
        ),
        _time("other_us", "Of That Role", "How much of the bubble that role is busy."),
        _time(
            "computation_us", "Computation", "Compute kernels run (without any: host operators)."
        ),
        _time("communication_us", "Communication", "Collectives and transfers run."),
    ),
)

ROLE_PERIODS = TableSpec(
    "role_periods",
    "Periods",
    "One row per stretch of time of a rank in one role, since the start of the first recording.",
    (
        _WORKER,
        Column("rank", "Rank", "integer", None, "Rank, as recorded."),
        _ROLE,
        Column("phase", "Phase", "string", None, "Name of the ranges that mark it."),
        _time("start_us", "Start", "Start.", "moment"),
        _time("end_us", "End", "End.", "moment"),
        _time("duration_us", "Duration", "From start to end."),
        _time("busy_us", "Busy", "Computation or communication runs."),
        Column("busy_pct", "Busy", "number", "pct", "Busy of Duration."),
        Column("calls", "Ranges", "integer", "count", "Ranges from start to end."),
    ),
    sort="start_us,worker",
)

GENERATIONS = TableSpec(
    "generations",
    "Ends of generations",
    "One row per generation that several ranks make at the same time: how far apart they finish.",
    (
        Column("generation", "Generation", "integer", None, "Number, from 1."),
        Column("workers", "Ranks", "integer", "count", "Ranks that take part."),
        _time("start_us", "Start", "Start of the first rank.", "moment"),
        _time("duration_us", "Duration", "From there to the end of the last rank's work."),
        _time("first_us", "First Done", "From the start to the end of the work of the first."),
        _time("median_us", "Median Done", "Likewise, of the rank in the middle."),
        _time("tail_us", "Tail", "From the median to the end of the last."),
        Column("tail_pct", "Tail", "number", "pct", "Tail of Duration."),
        _time(
            "idle_us", "Idle at the End", "From a rank's end to that of the last, mean over ranks."
        ),
        Column("last_worker", "Last", "string", None, "Worker of the rank that finishes last."),
    ),
)
