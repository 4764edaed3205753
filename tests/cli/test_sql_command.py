"""``sql``: formats, where the query comes from, lists, exit codes, Ctrl-C."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torch_tb_profiler.cli import main
from torch_tb_profiler.knowledge.sql import sql_rules

Capture = pytest.CaptureFixture[str]
QUERY = (
    "select category, count(*) as n, sum(dur_ns) as total_ns from raw.slices"
    " group by all order by n, category"
)

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where a.range * b.range % 7 = 3"
"""Hours: 10^12 products."""


@pytest.fixture
def path(samples: Path) -> str:
    return str(samples / "h100_bert_small")


def run(path: str, *arguments: str) -> int:
    return main(["sql", path, *arguments, "--no-cache"])


def test_formats(path: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(path, QUERY) == 0
    text = capsys.readouterr().out
    assert "SQL: h100_bert_small · rank0 · span default" in text
    assert "Answer (" in text
    assert run(path, QUERY, "--format", "csv") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["category", "n", "total_ns"]
    assert run(path, QUERY, "--format", "json") == 0
    table = json.loads(capsys.readouterr().out)["tables"]["answer"]
    assert [[str(cell) for cell in row] for row in table["rows"]] == rows[1:]
    assert run(path, QUERY, "--format", "md") == 0
    assert "| category" in capsys.readouterr().out.lower()
    target = tmp_path / "answer.xlsx"
    assert run(path, QUERY, "--format", "xlsx", "--output", str(target)) == 0
    assert target.read_bytes()[:2] == b"PK"
    assert run(path, QUERY, "--format", "xlsx", "--output", str(target)) == 2
    assert "is not overwritten" in capsys.readouterr().err


def test_the_query_may_follow_options(samples: Path, capsys: Capture) -> None:
    query = "select distinct run from raw.steps"
    options = ["--run", "mi300_bert_small", "--format", "csv", "--no-cache"]
    assert main(["sql", str(samples), *options, query]) == 0
    assert capsys.readouterr().out.split() == ["run", "mi300_bert_small"]
    assert main(["sql", str(samples), *options, query, "second"]) == 2
    assert "unrecognized arguments" in capsys.readouterr().err


def test_the_query_comes_from_a_file_or_stdin(
    path: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.sql"
    file.write_bytes(b"\xef\xbb\xbfselect 40 + 2 as answer")
    assert run(path, "--file", str(file), "--format", "csv") == 0
    assert capsys.readouterr().out == "answer\r\n42\r\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"select 'a' as x;\n")))
    assert run(path, "-", "--format", "csv") == 0
    assert capsys.readouterr().out == "x\r\na\r\n"
    file.write_bytes(b"select '\xff'")
    assert run(path, "--file", str(file)) == 2
    assert "UTF-8" in capsys.readouterr().err
    assert run(path, "--file", str(tmp_path / "nothing.sql")) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_lists(path: str, capsys: Capture) -> None:
    assert run(path, "--tables") == 0
    text = capsys.readouterr().out
    assert "raw.slices" in text
    assert "kernels.kernels" in text
    assert run(path, "--columns", "kernels", "--format", "csv") == 0
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(capsys.readouterr().out))}
    assert rows["total_us"][:2] == ["number", "us"]
    assert run(path, "--tables", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)["tables"]) > 100
    assert run(path, "--examples") == 0
    text = capsys.readouterr().out
    assert all(example.query.strip() in text for example in sql_rules().example)
    assert run(path, "--columns", "kernls") == 2
    assert "Did you mean kernels" in capsys.readouterr().err
    assert run(path, "--tables", "--format", "md") == 2
    assert "table, json or csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "Give one query"),
        (["select 1", "--tables"], 2, "Give one query"),
        (["select nme from raw.slices"], 2, "Did you mean name"),
        (["select * from read_csv('/etc/passwd')"], 2, "read_csv"),
        (["select 1", "--run", "nothing"], 2, "There is no run"),
        (["select * from distributed.overlap"], 3, "no communication"),
        ([ENDLESS,
          "--time-limit", "1"], 2, "longer than 1 s"),
        (["select repeat('x', 1000000000)", "--memory-limit", "0.2"], 2, "GB"),
    ],
)  # fmt: skip
def test_errors_and_exit_codes(
    path: str, arguments: list[str], code: int, words: str, capsys: Capture
) -> None:
    assert run(path, *arguments) == code
    assert words in capsys.readouterr().err


def test_a_file_that_is_no_trace_is_unreadable(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.json").write_text("no trace")
    assert run(str(tmp_path / "x.json"), "select * from raw.slices") == 3
    assert "x.json" in capsys.readouterr().err


def test_names_of_a_trace_cannot_act_on_a_terminal(tmp_path: Path, capsys: Capture) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "\x1b[31m=cmd()", "pid": 1, "tid": 1}
    events = [{**event, "ts": 1, "dur": 2}]
    (tmp_path / "a.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    query = 'select name, name as "\x1b[2J" from slices'
    for form in ("table", "md", "json", "csv"):
        assert run(str(tmp_path), query, "--format", form) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_cut_answers_say_so(path: str, capsys: Capture) -> None:
    assert run(path, "select id from raw.slices", "--format", "csv", "--max-rows", "2") == 0
    captured = capsys.readouterr()
    assert len(captured.out.split()) == 3
    assert "more than 2 rows" in captured.err
    assert "--max-rows" in captured.err


@pytest.mark.alone
def test_an_interrupt_ends_the_query(path: str) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "torch_tb_profiler", "sql", path, ENDLESS, "--time-limit", "600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TORCH_TB_PROFILER_CACHE_DIR": os.devnull},
    )
    time.sleep(15)
    assert command.poll() is None
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 130
    assert b"Traceback" not in errors
