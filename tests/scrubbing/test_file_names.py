"""Cases: stamps, ranks and steps of names stay; equal parts become equal ones; two equal targets;
names of processes are searched for in texts, words are not."""

from __future__ import annotations

from torch_tb_profiler.scrubbing.file_names import FileNames
from torch_tb_profiler.scrubbing.learning import LearnedNames
from torch_tb_profiler.scrubbing.replacements import Replacements


def _targets(*names: str) -> tuple[list[str], LearnedNames]:
    replacements = Replacements()
    learned = LearnedNames(replacements)
    files = FileNames(names, replacements, learned)
    return [files.target(name) for name in names], learned


def test_stamps_ranks_and_steps_stay() -> None:
    targets, _ = _targets(
        "rank0/worker0_step_12.1694128201545.pt.trace.json.gz",
        "acme/gpu17_4711.1700000000.pt.trace.json",
        "acme/et_rank3.json.gz",
        "1719428888.1-TP-0-DECODE.trace.json.gz",
        "acme-llm_rank3.json",
    )
    assert targets == [
        "rank0/worker0_step_12.1694128201545.pt.trace.json.gz",
        "run-a/run-c1.1700000000.pt.trace.json",
        "run-a/et_rank3.json.gz",
        "1719428888.1-TP-0-DECODE.trace.json.gz",
        "run-b_rank3.json",
    ]


def test_two_equal_targets() -> None:
    targets, _ = _targets("x/acme.json", "x/acme.json")
    assert targets == ["run-b/run-a.json", "run-b/run-a+.json"]


def test_names_of_processes_go_from_texts_and_words_stay() -> None:
    _, learned = _targets("gpu17_4711.1.pt.trace.json", "flash_attention.json")
    assert learned.replace("of gpu17_4711, flash_attention") == "of run-b1, flash_attention"
