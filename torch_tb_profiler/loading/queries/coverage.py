"""What a recording answers and what it does not: every question put to the views themselves.

A question is answered where its views have values. Why it is not is what the view says: the reason
of the view, of its empty table, or of the null column.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.metadata import world_size
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.recording.capabilities import has_operators
from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.analysis.recording.torch_version import torch_version
from torch_tb_profiler.knowledge.questions import (
    AnswerPart,
    AnswerSource,
    Question,
    question_file,
)
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.coverage_advice import RecordingAdvice
from torch_tb_profiler.loading.queries.coverage_problems import recording_problems
from torch_tb_profiler.loading.queries.traces import subject_trace, trace_ref
from torch_tb_profiler.loading.queries.views import view_result, view_spec
from torch_tb_profiler.requests.coverage import (
    Coverage,
    CoveredQuestion,
    RecordingCode,
    RecordingCoverage,
    SourcePayload,
)
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note, View
from torch_tb_profiler.views.without_times import no_timeline

CPU_BUILD = "+cpu"
"""In the version of a torch that was built for no device."""

SHOWN_TOPICS = 4


def recording_coverage(
    catalog: Catalog, subject: Subject, wait_s: float | None
) -> RecordingCoverage:
    """What the recording of ``subject`` answers; questions about a job, all ranks of its run.

    Args:
        catalog: The traces.
        subject: Run, worker and span; its selection and parameters are ignored.
        wait_s: How long to wait for traces to be parsed; None for as long as it takes.

    Raises:
        LoadingError: there is no such recording, or it cannot be read.
        NotReadyError: it is not parsed in time.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    named = Subject(file.run, file.worker, file.span)
    views = _Views(catalog, named, trace, wait_s)
    workers = len(catalog.workers(file.run, file.span, wait_s=wait_s))
    advice = RecordingAdvice(trace)
    answers = [
        _answer(question, views, advice, _outside(question, trace, workers))
        for question in question_file().questions
    ]
    code = _code(answers, advice)
    return RecordingCoverage(
        trace=trace_ref(file),
        ranks=workers,
        recorder=trace.meta.info.recorder,
        answer=_sentence(answers, advice),
        questions=tuple(answers),
        problems=recording_problems(trace, views.notes),
        record=code,
    )


class _Reading(Struct, frozen=True):
    """What a source holds: the number of its values and, without any, the reason; whether there is
    nothing of the kind at all, neither rows nor a view."""

    values: int
    reason: str | None = None
    is_absent: bool = False


class _Views:
    """The views of one recording and of its run, each computed once.

    Attributes:
        notes: The notes of all that were computed.
        show_programs: Whether the recording shows what the program ran, and when: what it does not
            show then did not run.
        saw_no_device: Whether the program saw no device, as far as the recording says.
    """

    def __init__(
        self, catalog: Catalog, subject: Subject, trace: Trace, wait_s: float | None
    ) -> None:
        self._catalog = catalog
        self._subject = subject
        self._wait_s = wait_s
        self._views: dict[tuple[str, str | None], View | str] = {}
        self.show_programs = _shows_program(trace)
        self.saw_no_device = _saw_no_device(trace)
        self.notes: list[Note] = []

    def read(self, source: AnswerSource) -> _Reading:
        """What ``source`` holds."""
        view = self._view(source.view, source.group_by)
        if isinstance(view, str):
            return _Reading(0, view, is_absent=True)
        if source.table is None:
            facts = [fact for fact in view.facts if fact.key == source.key]
            values = sum(fact.value is not None for fact in facts)
            reasons = [fact.reason for fact in facts if fact.reason]
            return _Reading(values, next(iter(reasons), view.answer), is_absent=not facts)
        table = view.tables.get(source.table)
        if table is None or table.frame.is_empty():
            declared = {spec.name: spec.when_empty for spec in view_spec(source.view).tables}
            reason = declared[source.table] if table is None else table.why_empty
            return _Reading(0, reason, is_absent=True)
        reason = table.null_reasons.get(source.key, view.answer)
        return _Reading(table.frame[source.key].count(), reason)

    def _view(self, name: str, group_by: str | None) -> View | str:
        """The view, or why there is none."""
        key = name, group_by
        if key not in self._views:
            selection = replace(self._subject.selection, group_by=group_by)
            request = ViewRequest(name, replace(self._subject, selection=selection))
            try:
                result = view_result(self._catalog, request, wait_s=self._wait_s)
            except RequestError as error:
                if error.problem.code != "view_unavailable":
                    raise
                title = view_spec(name).title
                self._views[key] = error.problem.message.removeprefix(f"{title}: ")
            else:
                self._views[key] = result.view
                self.notes += result.view.notes
        return self._views[key]


def _outside(question: Question, trace: Trace, workers: int) -> str | None:
    """Why a question does not apply to a recording, as far as the recording itself says; else
    None."""
    file = question_file()
    if recorder(trace).framework not in (None, question.framework or recorder(trace).framework):
        return file.other_framework
    if question.scope == "device" and _saw_no_device(trace):
        return file.no_device
    if question.scope == "job":
        is_job = workers > 1 or (world_size(trace) or 1) > 1 or len(records(trace).record) > 0
        return None if is_job else file.one_rank
    return None


def _shows_program(trace: Trace) -> bool:
    shows_work = has_operators(trace) or not trace.device_work.is_empty()
    return shows_work and no_timeline(trace) is None


def _saw_no_device(trace: Trace) -> bool:
    if not trace.device_work.is_empty() or not trace.devices.is_empty():
        return False
    is_cpu_build = (torch_version(trace) or "").endswith(CPU_BUILD)
    return trace.meta.info.settings.gpu_names == () or is_cpu_build


def _answer(
    question: Question, views: _Views, advice: RecordingAdvice, outside: str | None
) -> CoveredQuestion:
    text = advice.localize(question.text)
    if outside is not None:
        return CoveredQuestion(question.code, text, "not applicable", (), advice.localize(outside))
    answered: list[SourcePayload] = []
    missing: list[tuple[AnswerSource, _Reading]] = []
    for part in question.parts:
        if part.of_device and views.saw_no_device:
            continue
        source, reading = _best(part, views)
        if reading.values >= part.rows:
            answered.append(_payload(source))
        else:
            missing.append((source, reading))
    reason = next((reading.reason for _, reading in missing if reading.reason), None)
    answer: Coverage = "yes" if not missing else "partly" if answered else "no"
    is_absent = all(reading.is_absent for _, reading in missing)
    if answer == "no" and question.scope == "feature" and views.show_programs and is_absent:
        answer = "not applicable"
    is_open = answer in ("no", "partly")
    options = advice.option_names(question.records) if is_open else ()
    return CoveredQuestion(
        question.code,
        text,
        answer,
        tuple(answered) or tuple(_payload(source) for source, _ in missing),
        reason,
        options,
        question.instead if is_open and not options else None,
    )


def _best(part: AnswerPart, views: _Views) -> tuple[AnswerSource, _Reading]:
    """The first source that gives the part; else the first one, with its reason."""
    sources = part.parsed_sources()
    first: tuple[AnswerSource, _Reading] | None = None
    for source in sources:
        reading = views.read(source)
        if reading.values >= part.rows:
            return source, reading
        first = first or (source, reading)
    assert first is not None, "a part has a source"
    return first


def _payload(source: AnswerSource) -> SourcePayload:
    is_fact = source.table is None
    return SourcePayload(
        source.view,
        source.table,
        None if is_fact else source.key,
        source.key if is_fact else None,
        source.group_by,
    )


def _code(answers: Sequence[CoveredQuestion], advice: RecordingAdvice) -> RecordingCode | None:
    """Code for every question that applies, where an option helps with one that is open."""
    needed = {question.code: question.records for question in question_file().questions}
    applies = [each for each in answers if each.answer != "not applicable"]
    is_open = [each for each in applies if each.options]
    return advice.code(
        [record for each in applies for record in needed[each.code]],
        [record for each in is_open for record in needed[each.code]],
    )


def _sentence(answers: Sequence[CoveredQuestion], advice: RecordingAdvice) -> str:
    applies = [each for each in answers if each.answer != "not applicable"]
    whole = sum(each.answer == "yes" for each in applies)
    partly = sum(each.answer == "partly" for each in applies)
    text = f"Answers {whole} of {len(applies)} questions"
    if partly:
        text += f", {partly} more in part"
    topics = {question.code: question.topic for question in question_file().questions}
    with_options = [each for each in applies if each.options]
    if not with_options:
        return f"{text}."
    seen = [advice.localize(topics[each.code]) for each in with_options]
    shown = seen[:SHOWN_TOPICS]
    if len(seen) > SHOWN_TOPICS:
        shown.append("more")
    options = dict.fromkeys(name for each in with_options for name in each.options)
    return f"{text}; to see {_listed(shown)} record with {', '.join(options)}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
