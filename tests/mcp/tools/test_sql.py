"""Queries against the raw events; which recordings; lists; refusals name no option of the command
line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.mcp_answers import Ask, events_of, rows_of
from torch_tb_profiler.requests.errors import LoadingError

H100 = "h100_bert_small"


def test_an_answer_is_that_of_the_events(ask: Ask, samples: Path) -> None:
    kernels = [each for each in events_of(samples / H100) if each.get("cat") == "kernel"]
    text = ask("sql", trace=H100,
               query="select count(*) n, max(dur_ns) longest_ns from raw.device_work"
               " where category = 'kernel'")  # fmt: skip
    assert text.startswith("1 row from 1 recording (h100_bert_small).")
    (row,) = rows_of(text, "n")
    assert int(row["n"]) == len(kernels)
    longest_ns = round(max(each["dur"] for each in kernels) * 1000)
    assert next(iter(row.values())) == str(len(kernels))
    assert str(longest_ns) in row.values()


def test_all_recordings_without_a_name(ask: Ask) -> None:
    query = "select run, worker, count(*) n from raw.steps group by all"
    text = ask("sql", query=query)
    assert "from 20 recordings of 9 runs" in text
    assert len(rows_of(text, "run")) == 19
    assert len(rows_of(ask("sql", query=query, trace="dlrm_8_ranks"), "run")) == 8


def test_max_rows(ask: Ask) -> None:
    text = ask("sql", query="select id from raw.slices", trace=H100, max_rows=3)
    assert "3 rows from" in text
    assert "The answer has more than 3 rows" in text


def test_tables_columns_and_examples(ask: Ask) -> None:
    text = ask("sql")
    assert "raw.device_work" in [row["raw table"] for row in rows_of(text, "raw table")]
    columns = rows_of(ask("sql", describe="raw.device_work"), "column")
    assert {row["column"]: row["unit"] for row in columns}["dur_ns"] == "ns"
    assert "select" in ask("sql", describe="examples")
    with pytest.raises(LoadingError) as caught:
        ask("sql", describe="raw.device_wrok")
    assert "device_work" in str(caught.value.problem.hint)


@pytest.mark.parametrize(
    "query", ["select * from read_text('/etc/passwd')", "selct 1", "select x from kernels", "\0"]
)
def test_refusals(ask: Ask, query: str) -> None:
    with pytest.raises(LoadingError) as caught:
        ask("sql", query=query, trace=H100)
    assert "--" not in str(caught.value.problem.hint)
