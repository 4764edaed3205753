"""What recordings answer: real ones with known options, with each option off, and damaged ones."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.requests.coverage import CoveredQuestion, RecordingCoverage
from torch_tb_profiler.requests.errors import RequestError

Event = dict[str, Any]
RESNET = "cpu_resnet_full/worker0.1795226132075806134.pt.trace.json.gz"


def coverage_of(path: Path) -> RecordingCoverage:
    with open_trace(path, cache=False) as opened:
        return opened.doctor()


def by_code(coverage: RecordingCoverage) -> dict[str, CoveredQuestion]:
    return {each.code: each for each in coverage.questions}


def answers(coverage: RecordingCoverage) -> dict[str, str]:
    return {each.code: each.answer for each in coverage.questions}


@pytest.fixture(scope="module")
def recording(samples: Path) -> dict[str, Any]:
    """A recording of ``samples/record/cpu.py`` with all options."""
    text = gzip.decompress((samples / RESNET).read_bytes())
    content: dict[str, Any] = json.loads(text)
    return content


def without(content: dict[str, Any], option: str, keep: Callable[[Event], Event | None]) -> Any:
    """The recording as it is with ``option`` off."""
    events = [each for each in map(keep, content["traceEvents"]) if each is not None]
    return {**content, option: 0, "traceEvents": events}


def _no_memory(event: Event) -> Event | None:
    return None if event["name"] == "[memory]" else event


def _no_stacks(event: Event) -> Event | None:
    if event.get("cat") == "python_function":
        return None
    args = {key: value for key, value in event.get("args", {}).items() if key != "Call stack"}
    return {**event, "args": args}


def _no_shapes(event: Event) -> Event:
    lost = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
    args = {key: value for key, value in event.get("args", {}).items() if key not in lost}
    return {**event, "args": args}


OFF: dict[str, tuple[Callable[[Event], Event | None], set[str]]] = {
    "profile_memory": (_no_memory, {"memory"}),
    "with_stack": (_no_stacks, {"source_lines", "layers"}),
    "record_shapes": (_no_shapes, {"shapes"}),
}
"""Option → how events are without it, and the questions that are open then."""


def test_a_recording_with_all_options_answers_what_they_are_for(samples: Path) -> None:
    coverage = coverage_of(samples / RESNET)
    covered = answers(coverage)
    for _, questions in OFF.values():
        assert {covered[code] for code in questions} == {"yes"}
    assert covered["loader"] == "yes"
    assert covered["slow_rank"] == "not applicable"
    assert covered["operators"] == "partly", "times of devices are missing"
    assert by_code(coverage)["kernels"].options == ("ProfilerActivity.CUDA",)


@pytest.mark.parametrize("option", OFF)
def test_what_an_option_records_is_open_without_it(
    recording: dict[str, Any], samples: Path, tmp_path: Path, option: str
) -> None:
    keep, lost = OFF[option]
    path = tmp_path / "rank0.pt.trace.json"
    path.write_text(json.dumps(without(recording, option, keep)))
    before, now = answers(coverage_of(samples / RESNET)), coverage_of(path)
    assert {code for code, each in answers(now).items() if each != before[code]} == lost
    for code in lost:
        question = by_code(now)[code]
        assert (question.answer, question.options) == ("no", (f"{option}=True",))
        assert question.reason is not None
    assert f"{option}=True" in now.answer
    assert now.record is not None
    assert f"    {option}=True,\n" in now.record.code


@pytest.mark.parametrize(
    "name", ["cpu_resnet_full", "dlrm_8_ranks", "h100_bert_small", "mi300_bert_small"]
)
def test_yes_has_values_and_no_has_none(samples: Path, name: str) -> None:
    with open_trace(samples / name, cache=False) as opened:
        coverage = opened.doctor()
        for question in coverage.questions:
            counts = [_values(opened, source) for source in question.sources]
            if question.answer in ("yes", "partly"):
                assert all(counts), question.code
            elif question.code != "slow_rank":
                assert not any(counts), question.code
            assert (question.reason is None) == (question.answer == "yes"), question.code


def _values(opened: OpenedTrace, source: Any) -> int:
    try:
        result = opened.view(source.view, group_by=source.group_by)
    except RequestError:
        return 0
    if source.fact is not None:
        return sum(each.key == source.fact and each.value is not None for each in result.facts)
    if source.table not in result.tables:
        return 0
    return int(result.table(source.table)[source.column].drop_nulls().len())


def test_a_job_is_asked_about_its_ranks_and_one_of_them_alone_is_not_enough(samples: Path) -> None:
    folder = samples / "dlrm_8_ranks"
    job = coverage_of(folder)
    assert (job.ranks, answers(job)["slow_rank"], answers(job)["links"]) == (8, "yes", "yes")
    alone = coverage_of(min(folder.iterdir()))
    question = by_code(alone)["slow_rank"]
    assert (alone.ranks, question.answer) == (1, "no")
    assert question.instead is not None
    assert question.instead.startswith("Record every rank")


def test_texts_have_the_terms_of_the_devices(samples: Path) -> None:
    texts = " ".join(each.question for each in coverage_of(samples / "mi300_bert_small").questions)
    assert "Matrix Cores" in texts
    assert "Tensor" not in texts
    assert " SM" not in texts


def _problems(coverage: RecordingCoverage) -> list[str]:
    return [each.code for each in coverage.problems]


def test_few_steps_and_a_file_that_is_cut_are_problems(
    recording: dict[str, Any], samples: Path, tmp_path: Path
) -> None:
    assert "few_steps" not in _problems(coverage_of(samples / RESNET))
    packed = (samples / RESNET).read_bytes()
    cut = tmp_path / "cut.pt.trace.json.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    assert "gzip_truncated" in _problems(coverage_of(cut))
    steps = [each for each in recording["traceEvents"] if "ProfilerStep#" in each["name"]]
    dropped = {each["name"] for each in steps[2:]}
    events = [each for each in recording["traceEvents"] if each["name"] not in dropped]
    two = tmp_path / "two.pt.trace.json"
    two.write_text(json.dumps({**recording, "traceEvents": events}))
    problem = next(each for each in coverage_of(two).problems if each.code == "few_steps")
    assert (problem.count, problem.text.startswith("The recording has 2 whole steps:")) == (2, True)


def test_a_recording_without_steps_says_so(
    write_trace: Callable[..., Path], tmp_path: Path
) -> None:
    coverage = coverage_of(write_trace(tmp_path / "rank0.pt.trace.json", ("aten::mm",) * 3))
    assert "no_steps" in _problems(coverage)
    assert answers(coverage)["kernels"] == "no"


def test_the_code_records_what_was_missing(
    write_trace: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    bare = coverage_of(write_trace(tmp_path / "rank0.pt.trace.json", ("aten::mm",) * 3))
    missing = ("steady_steps", "source_lines", "layers", "shapes", "memory")
    assert {answers(bare)[code] for code in missing} == {"no"}
    assert bare.record is not None
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    exec(
        compile(bare.record.code, "recorded", "exec"),
        {"loader": [torch.ones(2, 4)] * 8, "train": lambda batch: model(batch).sum().backward()},
    )
    recorded = coverage_of(tmp_path / "logs" / "run1")
    assert {answers(recorded)[code] for code in missing} == {"yes"}
    assert "few_steps" not in _problems(recorded)


def test_the_sentence_counts_and_names_what_to_add(samples: Path) -> None:
    coverage = coverage_of(samples / "dlrm_8_ranks")
    kinds: Sequence[str] = list(answers(coverage).values())
    applies = len(kinds) - kinds.count("not applicable")
    assert coverage.answer.startswith(f"Answers {kinds.count('yes')} of {applies} questions; ")
    assert "with_stack=True" in coverage.answer
    assert coverage.frame.height == len(kinds)
    assert coverage.frame.filter(coverage.frame["code"] == "memory")["options"].item() == (
        "profile_memory=True"
    )
    assert os.linesep not in coverage.answer


def test_a_program_that_saw_no_device_is_not_asked_about_devices(
    recording: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "rank0.pt.trace.json"
    settings = {"torch_version": "2.13.0+cpu"}
    path.write_text(json.dumps({**recording, "program_settings": settings}))
    covered = answers(coverage_of(path))
    assert covered["operators"] == "yes"
    about_devices = {covered[code] for code in ("kernels", "idle", "copies", "allocator")}
    assert about_devices == {"not applicable"}


def test_findings_about_the_recording_are_its_problems_and_others_are_not(
    tmp_path: Path, samples: Path
) -> None:
    events = [
        {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": 20 * number, "dur": 10,
         "args": {"correlation": number + 1}}
        for number in range(10)
        for cat, name in (("cpu_op", "aten::mm"), ("cuda_runtime", "cudaLaunchKernel"))
    ]  # fmt: skip
    path = tmp_path / "rank0.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    coverage = coverage_of(path)
    assert "device_missing" in _problems(coverage)
    assert by_code(coverage)["kernels"].options == ("ProfilerActivity.CUDA",)
    slow_loader = coverage_of(samples / "kineto_resnet50_nw0")
    assert "dataloader_bound" not in _problems(slow_loader), "the program's, not the recording's"
