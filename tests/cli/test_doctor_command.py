"""``doctor``: a sentence, a table and code on the terminal; the same as JSON."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_a_terminal_gets_sentence_table_and_code(run: Run, samples: Path) -> None:
    done = run("doctor", samples / "dlrm_8_ranks")
    assert (done.code, done.err) == (0, "")
    heading, sentence, *_ = done.out.split("\n")
    assert heading.endswith("one of 8 ranks: recorded with torch.profiler")
    assert sentence.startswith("Answers ")
    assert "\nWhich kernels take the time?    " in done.out
    code = done.out.split("Record next time\n\n")[1].split("\n\nCost: ")[0]
    ast.parse(textwrap.dedent(code))
    assert all(len(line) <= 100 or "/" in line for line in done.out.split("\n") if line[:4].strip())
    assert "torch-tb-profiler record --memory --stacks -- python train.py" in done.out


def test_json_has_the_same(run: Run, samples: Path) -> None:
    answer = run("doctor", samples / "cpu_resnet_full", "--format", "json").json
    assert answer["schema_version"] == 1
    assert answer["trace"]["worker"] == "worker0"
    questions = {each["code"]: each for each in answer["questions"]}
    assert questions["source_lines"]["sources"] == [
        {
            "view": "operators",
            "table": "operators",
            "column": "call_stack",
            "fact": None,
            "group_by": "name+call_stack",
        }
    ]
    assert questions["kernels"]["answer"] == "no"
    ast.parse(answer["record"]["code"])


def test_one_worker_can_be_chosen_and_more_runs_are_named(run: Run, samples: Path) -> None:
    done = run("doctor", samples, "--run", "dlrm_8_ranks", "--worker", "worker3_step_12")
    assert "worker3_step_12" in done.out.split("\n")[0]
    assert done.err == ""
    assert "more runs" in run("doctor", samples).err


def test_errors(run: Run, samples: Path, tmp_path: Path) -> None:
    assert run("doctor", tmp_path / "absent").code == 3
    assert run("doctor", samples / "dlrm_8_ranks", "--worker", "rank9").code == 2
