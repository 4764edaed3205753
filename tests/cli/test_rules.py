"""``--rules``: applied, named as a source, and mistakes told; the server starts all the same."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.loading.user_rules import RULES_VARIABLE

Run = Callable[..., Done]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text('[[kernel]]\nmatch = "sgemm"\ncategory = "communication"\n')
    return path


def test_a_report_follows_the_rules_and_names_their_file(
    run: Run, resnet: Path, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = ("report", resnet, "--view", "kernels", "--format", "json")
    without = run(*view).json
    assert not any(fact["key"] == "kernel_rules" for fact in without["facts"])
    by_option = run(*view, "--rules", rules).json
    monkeypatch.setenv(RULES_VARIABLE, str(rules))
    by_variable = run(*view).json
    assert by_option == by_variable
    (fact,) = (fact for fact in by_option["facts"] if fact["key"] == "kernel_rules")
    assert fact["value"] == f"{rules} (1 rule)"
    keys = [column["key"] for column in by_option["tables"]["kernels"]["columns"]]
    name, communicates = keys.index("name"), keys.index("communication")
    rows = by_option["tables"]["kernels"]["rows"]
    assert {row[communicates] for row in rows if "sgemm" in row[name]} == {True}
    assert not any(row[communicates] for row in without["tables"]["kernels"]["rows"])


@pytest.mark.parametrize("command", ["report", "compare", "ingest", "scalars"])
def test_a_mistake_is_3_with_its_line_and_the_next_step(
    run: Run, resnet: Path, rules: Path, command: str, tmp_path: Path
) -> None:
    rules.write_text('[[kernel]]\nmatch = "sgemm"\ncategory = "comunication"\n')
    options: dict[str, list[object]] = {"compare": [resnet], "scalars": ["--output", tmp_path]}
    more = options.get(command, [])
    done = run(command, resnet, *more, "--rules", rules)
    assert done.code == 3
    assert done.out == ""
    assert done.err.splitlines() == [
        f"torch-tb-profiler: error: {rules}, line 3: there is no category 'comunication'.",
        "  Did you mean communication or concatenation?",
    ]


def test_serve_starts_and_says_the_mistake(resnet: Path, rules: Path, tmp_path: Path) -> None:
    rules.write_text('[[kernel]]\nmatch = "sgemm"\ncategory = ""\n')
    command = [sys.executable, "-um", "torch_tb_profiler", "serve", str(resnet), "--port", "0",
               "--cache-dir", str(tmp_path / "cache"), "--rules", str(rules)]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = re.search(r"http://\S+/", process.stdout.readline())
        assert address is not None
        url = address.group() + "api/view/kernels"
        answer: dict[str, Any] = {"span": {}}
        while "span" in answer:  # not parsed yet
            with urllib.request.urlopen(url, timeout=20) as response:
                answer = json.load(response)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        errors = process.stderr.read()
    assert f"warning: {rules}, line 3: the category is empty." in errors
    assert "Traceback" not in errors
    (note,) = (note for note in answer["notes"] if note["code"] == "rules_not_applied")
    assert f"{rules}, line 3: the category is empty." in note["text"]
