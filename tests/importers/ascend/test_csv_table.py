"""CSV files of any release: headers, exact times, quotes, tabs and line breaks."""

from __future__ import annotations

import csv
import math
import re

import pytest

from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.ascend.csv_table import CsvTable, normal_header
from torch_tb_profiler.importers.ascend.summaries import collectives, links
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.columns import ABSENT


def table(text: str | bytes) -> CsvTable:
    data = text.encode() if isinstance(text, str) else text
    return CsvTable.read(Source("a.csv", iter([data])))


@pytest.mark.parametrize(
    ("header", "normal"),
    [
        ("Start Time(us)", "starttime"),
        ("Device_id", "deviceid"),
        (" Communication(Not Overlapped) ", "communicationnotoverlapped"),
        ("Block Num", "blocknum"),
        ("cube_utilization(%)", "cubeutilization"),
    ],
)
def test_headers_without_case_spaces_and_unit(header: str, normal: str) -> None:
    assert normal_header(header) == normal


def test_times_keep_their_nanoseconds() -> None:
    rows = table("Start Time(us)\n1736408883704643.212\t\n17.5\n3\nN/A\n1e9\n-1.5\n")
    assert rows.times_ns("start time (us)").tolist() == [
        1_736_408_883_704_643_212, 17_500, 3_000, ABSENT, ABSENT, ABSENT,
    ]  # fmt: skip


def test_a_column_matches_any_of_its_names() -> None:
    for header in ("Block Dim", "Block Num", "block_num"):
        rows = table(f"Name,{header}\na,24\nb,N/A\n")
        assert rows.integers("Block Dim", "Block Num").tolist() == [24, ABSENT]
    assert table("Name\na\n").integers("Block Dim").tolist() == [ABSENT]
    assert not table("Name\na\n").has("Name", "Type")


def test_quotes_and_line_breaks_stay_in_their_cell() -> None:
    rows = table('Name,Shapes,Stack\na,"""32,3;4""","x.py(1): f;\ny.py(2): ""g"""\nb,,\n')
    assert rows.texts("Shapes").to_list() == ['"32,3;4"', None]
    assert rows.texts("Stack").to_list() == ['x.py(1): f;\ny.py(2): "g"', None]


def test_rows_of_other_lengths_and_invalid_utf8() -> None:
    rows = table(b"\xef\xbb\xbfName,Count\na,1,2,3\n\xff,2\n")
    assert rows.texts("name").to_list() == ["a", "\ufffd"]
    assert rows.numbers("count").tolist() == [1, 2]


def test_a_quote_that_does_not_close_damages_no_other_row() -> None:
    rows = table('Name,Shapes,Count\na,"1,2",1\nb,"3"~",4\nc,"5,6",3\n')
    assert rows.texts("Name").to_list() == ["a", "b", "c"]
    assert rows.texts("Shapes").to_list() == ["1,2", '3~"', "5,6"]
    rows = table('Name,Shapes,Count\na,"1,2",1\nb,"3,4\nc,"5"x"6",3\n')
    assert rows.texts("Name").to_list() == ["a", None, "c"]
    assert rows.numbers("Count").tolist()[::2] == [1, 3]


def test_beside_a_damaged_quote_a_cell_that_is_too_long_damages_its_row_alone() -> None:
    before = csv.field_size_limit(100)
    try:
        rows = table(f'Name,Shapes,Count\nb,"3"~",4\n{"x" * 200},,2\nc,,3\n')
    finally:
        csv.field_size_limit(before)
    assert rows.texts("Name").to_list() == ["b", None, "c"]
    assert rows.numbers("Count").tolist()[::2] == [4, 3]


@pytest.mark.parametrize("data", [b"", b"  \n", b"\x89PNG\r\n\0\0"])
def test_a_file_that_is_not_a_table_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="empty or is not text"):
        table(data)


def test_matching_headers_are_returned_as_written() -> None:
    rows = table("aic_mac_ratio,aic_time(us),cube_utilization(%)\n1,2,3\n")
    assert rows.headers_matching(re.compile(r"\w+_ratio|cube_\w+\(%\)")) == [
        "aic_mac_ratio", "cube_utilization(%)",
    ]  # fmt: skip


def test_a_line_beyond_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "line_bytes=40")
    data = b"Name,Duration(us)\nmm,5\n" + b"x" * 60 + b",6\nadd,7\n"
    source = Source("a.csv", iter([data]))
    table = CsvTable.read(source)
    assert table.texts("Name").to_list() == ["mm", "add"]
    assert table.numbers("duration").tolist() == [5, 7]
    assert source.quality.counts["line_left_out"] == 1


def test_numbers_that_no_float_holds_are_unknown() -> None:
    read = table("a,b\n1,1e308\n2,inf\n3,1e400\n4,-2.5\n").numbers("b")
    assert [str(number) for number in read] == ["nan", "nan", "nan", "-2.5"]


@pytest.mark.parametrize(
    "number",
    [10**400, -(10**400), 1e308, math.inf, math.nan, -1],
    ids=["1e400", "-1e400", "1e308", "inf", "nan", "-1"],
)
def test_so_are_those_of_collectives_and_links(number: float) -> None:
    times = {"Start Timestamp(us)": number, "Elapse Time(ms)": number, "Wait Time(ms)": 2.0}
    step = {"collective": {"allReduce@1": {"Communication Time Info": times}}}
    side = collectives({"step1": step}, "communication.json")
    assert side is not None
    (row,) = side.frame.iter_rows(named=True)
    assert (row["start_us"], row["elapse_us"], row["wait_us"]) == (None, None, 2000.0)
    sent = {"Transit Size(MB)": number, "Bandwidth(GB/s)": 3.0}
    (link,) = links({"step1": {"collective": {"allReduce@1": {"0-1": sent}}}})
    assert (link["size_bytes"], link["bandwidth_gbps"]) == (None, 3.0)
