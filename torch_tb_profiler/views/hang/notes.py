"""What limits the diagnosis of a hang."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.views.answering import counted, quoted
from torch_tb_profiler.views.hang.texts import in_sentence, subject
from torch_tb_profiler.views.schema import Note


def hang_notes(diagnosis: HangDiagnosis) -> tuple[Note, ...]:
    """The notes, the weightiest first."""
    notes = []
    dumps = diagnosis.dumps
    if not dumps.has_ranks:
        notes.append(
            _note(
                "hang_ranks_unknown",
                "warning",
                "Some dumps do not say their rank, in name or content: they are numbered in the "
                "order of their names.",
            )
        )
    members = {rank for each in dumps.channels.all for rank in each.members}
    absent = tuple(sorted(members - set(dumps.ranks) - set(dumps.older)))
    if dumps.earlier:
        notes.append(
            _note(
                "hang_earlier_attempts",
                "warning",
                f"{counted(len(dumps.earlier), 'dump')} of earlier attempts of the job left out "
                f"({quoted(dumps.earlier[0])}{' …' if len(dumps.earlier) > 1 else ''}): they end "
                "before later dumps of the same ranks begin, which count from the start again.",
                {"files": list(dumps.earlier[:100])},
            )
        )
    if dumps.older:
        notes.append(
            _note(
                "hang_dumps_older",
                "warning",
                f"{counted(len(dumps.older), 'dump')} left out ({in_sentence(dumps.older)}): other "
                "ranks completed collectives that need every rank and are not in it, so it was "
                "written earlier, or in another run.",
                {"ranks": list(dumps.older)},
            )
        )
    if absent:
        notes.append(
            _note(
                "hang_dumps_missing",
                "warning",
                f"{subject(absent)} {'has' if len(absent) == 1 else 'have'} no dump: dead before "
                "it was written, or not copied. What these ranks did is unknown.",
                {"ranks": list(absent)},
            )
        )
    cut = dumps.files.filter("is_partial")
    if cut.height:
        notes.append(
            _note(
                "hang_dumps_cut",
                "warning",
                f"{counted(cut.height, 'dump')} end in the middle: later calls of these ranks are "
                "unknown.",
            )
        )
    unlisted = [each.label for each in dumps.channels.all if each.source == "calls"]
    if unlisted:
        notes.append(
            _note(
                "hang_members_unknown",
                "info",
                f"The dumps do not list the members of {counted(len(unlisted), 'group')} (gloo "
                "does not record them): ranks with a call in it count as members, so a rank that "
                "never called anything in such a group is not noticed.",
                {"groups": unlisted[:20]},
            )
        )
    if diagnosis.problems and not diagnosis.is_end_known:
        notes.append(
            _note(
                "hang_time_unknown",
                "info",
                "When the dumps were written is unknown (the time of the files is not plausible): "
                "waits are counted to the last time stamp in any dump, so they are lower bounds.",
            )
        )
    if _has_retired_only(dumps.entries):
        notes.append(
            _note(
                "hang_ends_unknown",
                "info",
                "The backend records that a call ended, not how: one that ended with an error "
                "counts as completed, and calls that only began count as scheduled.",
            )
        )
    return tuple(notes)


def _has_retired_only(entries: pl.DataFrame) -> bool:
    ended = entries.filter(pl.col("is_retired"))
    return bool(ended.height) and ended["completed_ns"].null_count() == ended.height


def _note(code: str, severity: str, text: str, evidence: dict[str, object] | None = None) -> Note:
    return Note("quality", code, severity, text, evidence or {})  # type: ignore[arg-type]
