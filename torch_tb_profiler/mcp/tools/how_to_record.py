"""``how_to_record``: how to record a program, and what a recording lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torch_tb_profiler.knowledge.questions import Question, question_file
from torch_tb_profiler.knowledge.recorders import TORCH_PROFILER, Recipe, Recorder, recorders
from torch_tb_profiler.knowledge.recording_code import options_for, recording_code
from torch_tb_profiler.loading.queries.coverage import recording_coverage
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.tool import MAX_CHARS, McpTool
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import file_named, whole_name
from torch_tb_profiler.requests.coverage import CoveredQuestion, RecordingCoverage
from torch_tb_profiler.requests.errors import unknown
from torch_tb_profiler.requests.questions import Subject

ANSWERS = ("no", "partly", "yes")
_COMMON = frozenset({"python", "torch-tb-profiler"})
"""Commands that do not say which recorder is meant."""


def how_to_record(context: ToolContext, arguments: dict[str, Any]) -> str:
    """Of a recording what it answers and code for the rest; without one code for a framework."""
    named, topic = ("", arguments["question"])
    if not arguments["framework"]:
        named, topic = _recorder_in(topic)
    questions = _matching(topic, is_optional=named != "")
    answer = AnswerText(arguments["max_chars"])
    if arguments["trace"]:
        return _of_recording(context, arguments["trace"], questions, answer)
    recorder = _recorder(arguments["framework"] or named)
    recipe = recorder.recipe
    if recipe is None:
        known = ", ".join(name for name, each in recorders().items() if each.recipe is not None)
        answer.add(f"There is no code to copy for {recorder.name}; there is for {known}.")
        for capability, phrase in recorder.records.items():
            answer.add(f"- {capability}: {phrase}")
        return answer.text()
    needed = {name for each in questions for name in each.records}
    options = options_for(recipe, needed, None)
    answer.add(f"Record with {recorder.name}{_purpose(arguments['question'], questions)}:")
    answer.add(f"```{recipe.language}\n{recording_code(recipe, options)}\n```")
    costs = [f"{each.name}: {each.cost}" for each in options if each.cost]
    if costs:
        answer.add(f"Cost: {'; '.join(costs)}.")
    if recipe.otherwise and recipe.otherwise in recorders():
        other = recorders()[recipe.otherwise].recipe
        if other is not None:
            code = recording_code(other, options_for(other, needed, None))
            answer.add(f"Without a change of the program:\n```{other.language}\n{code}\n```")
    instead = [f"- {each.text} {each.instead}" for each in questions if each.instead]
    if arguments["question"] and instead:
        answer.add("\n".join(instead))
    answer.add(
        "Put the recording into a log directory of this server, then call list_traces. Record 5 "
        "steps or more after warm-up."
    )
    others = [name for name, each in recorders().items() if each.recipe and name != recorder.name]
    answer.add(f"Other recorders (framework=…): {', '.join(others)}.")
    return answer.text()


def _of_recording(
    context: ToolContext, trace_name: str, questions: Sequence[Question], answer: AnswerText
) -> str:
    file = file_named(context, trace_name)
    subject = Subject(file.run, file.worker, file.span)
    coverage = context.when_ready(
        lambda wait_s: recording_coverage(context.catalog, subject, wait_s)
    )
    codes = {each.code for each in questions}
    answer.add(quoted(coverage.answer, 1_000))
    answer.add(f"{whole_name(file)}, recorded with {coverage.recorder or 'an unknown recorder'}.")
    _add_record(answer, coverage)
    for kind in ANSWERS:
        chosen = [each for each in coverage.questions if each.answer == kind and each.code in codes]
        lines = [_line(each) for each in chosen]
        if lines and answer.add_lines([f"Answered {kind}:"], lines) < len(lines):
            answer.note_cut(f"questions answered {kind}; ask for one with question")
    outside = [
        each for each in coverage.questions
        if each.answer == "not applicable" and each.code in codes
    ]  # fmt: skip
    lines = [f"- {each.question} {quoted(each.reason or '', 300)}" for each in outside]
    if lines:
        answer.add_lines(["Not applicable:"], lines)
    problems = [f"- {each.severity}: {quoted(each.text, 600)}" for each in coverage.problems]
    if problems and answer.add_lines(["The recording itself:"], problems) < len(problems):
        answer.note_cut("problems of the recording")
    return answer.text()


def _add_record(answer: AnswerText, coverage: RecordingCoverage) -> None:
    record = coverage.record
    if record is None:
        return
    answer.add(f"Record next time:\n```{record.language}\n{record.code}\n```", "code to record")
    if record.costs:
        costs = "; ".join(f"{each.option}: {each.cost}" for each in record.costs)
        answer.add(f"Cost: {costs}.", "cost")
    if record.otherwise:
        answer.add(
            f"Without a change of the program:\n```shell\n{record.otherwise}\n```", "command"
        )


def _line(each: CoveredQuestion) -> str:
    reason = "" if each.reason is None else f" {quoted(each.reason, 300)}"
    options = f" Record with {', '.join(each.options)}." if each.options else ""
    sources = ", ".join(
        dict.fromkeys(
            f"{source.view}.{source.table or source.fact}"
            + (f" group_by={source.group_by}" if source.group_by else "")
            for source in each.sources
        )
    )
    where = f" → {sources}" if sources and each.answer != "no" else ""
    instead = f" {each.instead}" if each.instead else ""
    return f"- {quoted(each.question, 200)}{where}{reason}{options}{instead}"


def _matching(text: str, *, is_optional: bool) -> list[Question]:
    """The questions of a code, or that contain the words; all without any.

    Args:
        text: The code or the words.
        is_optional: Whether words that no question contains stand for all.

    Raises:
        UnknownError: no question contains them.
    """
    every = question_file().questions
    low = text.strip().lower()
    if not low:
        return list(every)
    exact = [each for each in every if low in (each.code, each.text.lower())]
    if exact:
        return exact
    words = [word for word in low.replace("?", " ").split() if len(word) > 3]
    words = [word for word in words if word not in question_file().general_words]
    if not words:
        return list(every)
    scored = [(sum(word in _text(each) for word in words), each) for each in every]
    best = max((score for score, _ in scored), default=0)
    if not best and is_optional:
        return list(every)
    if not best:
        raise unknown("question", text, [each.code for each in every])
    return [each for score, each in scored if score == best]


def _text(each: Question) -> str:
    parts = (each.code, each.text, each.topic, *each.records)
    return " ".join(parts).lower()


def _recorder(framework: str) -> Recorder:
    """The recorder of a name, or the first one with a recipe for programs of a framework.

    Raises:
        UnknownError: there is none.
    """
    low = framework.strip().lower()
    if not low:
        return recorders()[TORCH_PROFILER]
    named = [each for name, each in recorders().items() if name.lower() == low]
    of_framework = [each for each in recorders().values() if (each.framework or "").lower() == low]
    with_recipe = [each for each in of_framework if each.recipe is not None]
    similar = [
        each
        for name, each in recorders().items()
        if each.recipe is not None and (low in name.lower() or low in _commands(each.recipe))
    ]
    for chosen in (named, with_recipe, of_framework, similar):
        if chosen:
            return chosen[0]
    frameworks = [each.framework for each in recorders().values() if each.framework]
    raise unknown("framework", framework, [*dict.fromkeys(frameworks), *recorders()])


def _commands(recipe: Recipe) -> set[str]:
    """The commands that a recipe calls: ``nsys``."""
    lines = recipe.code.splitlines() if recipe.language == "shell" else []
    return {line.split()[0].lower() for line in lines if line.strip()}


def _recorder_in(question: str) -> tuple[str, str]:
    """The recorder with a recipe whose name or command a question contains, and what is left of the
    question; no name where it contains none."""
    low = question.lower()
    for name, each in recorders().items():
        if each.recipe is None or name == TORCH_PROFILER:
            continue
        for known in (name.lower(), *(_commands(each.recipe) - _COMMON)):
            if re.search(rf"(?<![\w.-]){re.escape(known)}(?![\w-])", low):
                return name, low.replace(known, " ")
    return "", question


def _purpose(question: str, questions: Sequence[Question]) -> str:
    if not question.strip() or len(questions) == len(question_file().questions):
        return " so that every question can be answered"
    return f" to answer: {' '.join(each.text for each in questions)}"


TOOL = McpTool(
    "how_to_record",
    "How to record what is missing",
    "With trace: which questions the recording answers, which not and why, what is wrong with it, "
    "and code to copy that records the rest next time, for its recorder and version. Without "
    "trace: code that records a program of a framework (PyTorch, Paddle, JAX, MindSpore, Ascend, "
    "or a recorder as Nsight Systems, rocprofv3). question narrows both to a question.",
    (
        ToolArgument(
            "question", "A question or its code: memory, source_lines, 'Which layers are slow?'."
        ),
        ToolArgument("framework", 'Framework or recorder; "" is PyTorch with torch.profiler.'),
        ToolArgument("trace", 'Recording to check, named as in list_traces; "" for none.'),
        MAX_CHARS,
    ),
    how_to_record,
)
