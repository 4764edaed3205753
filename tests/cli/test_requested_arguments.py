"""``--arguments``: arguments of events as columns of reports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done

Run = Callable[..., Done]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * number,
         "dur": 5, "args": {"queued": number, "note": "a|b"}}
        for number in range(3)
    ]  # fmt: skip
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_every_format_has_the_columns(run: Run, path: Path) -> None:
    command = ("report", path, "--view", "operators", "--arguments", "queued, note", "--format")
    (row,) = csv.DictReader(io.StringIO(run(*command, "csv").out))
    assert (row["arg_queued_mean"], row["arg_queued_sum"], row["arg_note"]) == ("1.0", "3.0", "a|b")
    answer = run(*command, "json").json
    columns = [each["key"] for each in answer["tables"]["operators"]["columns"]]
    values = dict(zip(columns, answer["tables"]["operators"]["rows"][0], strict=True))
    assert (values["arg_queued_max"], values["arg_note"]) == (2, "a|b")
    assert "Mean queued" in run(*command, "md").out
    assert "a\\|b" in run(*command, "md").out
    filtered = run(*command, "csv", "--filter", "arg_queued_mean>1").out
    assert len(filtered.splitlines()) == 1


def test_other_arguments_are_another_reading(run: Run, path: Path) -> None:
    command = ("report", path, "--view", "operators", "--format", "csv")
    for arguments, present in (("queued", True), ("note", False), ("queued", True)):
        done = run(*command, "--arguments", arguments)
        assert ("arg_queued_mean" in done.out) is present
    assert "arg_" not in run(*command).out


def test_missing_and_malformed_names_are_said(run: Run, path: Path) -> None:
    done = run("report", path, "--view", "operators", "--arguments", "other", "--format", "json")
    notes = {note["code"]: note for note in done.json["notes"]}
    assert notes["argument_absent"]["evidence"]["examples"] == ["other"]
    assert run("report", path, "--arguments", "x" * 300).code == 2
