"""Dumps of the flight recorder: Python's unpickler and json are the reference."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers.flight_dumps import START_NS, dump, entry, planted
from torch_tb_profiler.importers import TraceFormatError, detect_format, import_source
from torch_tb_profiler.importers.flight_recorder import FORMAT
from torch_tb_profiler.importers.flight_recorder.names import rank_of_dump
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.flight_tables import FLIGHT_STATES

RECORDED = sorted((Path(__file__).parents[2] / "data" / "hangs").glob("*/fr_trace*"))
GROUPS = {"0": ("default_pg", [0, 1])}


def read(data: bytes, name: str = "fr_trace_rank_0") -> dict[str, pl.DataFrame]:
    return {table.name: table.frame for table in columns_of(data, name).side}


def columns_of(data: bytes, name: str = "fr_trace_rank_0") -> EventColumns:
    return import_source(Source(name, [data[at : at + 777] for at in range(0, len(data), 777)]))


def rows(tables: dict[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """Entries with everything they refer to."""
    result = []
    for row in tables["flight_entries"].iter_rows(named=True):
        group = tables["flight_groups"].row(row["group"], named=True)
        call = tables["flight_calls"].row(row["call"], named=True)
        result.append(
            {
                "group": (group["name"], group["description"]),
                "operation": call["operation"],
                "sizes": (json.loads(call["input_sizes"]), json.loads(call["output_sizes"])),
                "sequence": row["sequence"],
                "record": row["record"],
                "state": FLIGHT_STATES[row["state"]],
                "is_retired": row["is_retired"],
                "created_ns": row["created_ns"],
                "stack": None
                if row["stack"] < 0
                else tables["flight_stacks"]["frames"][row["stack"]],
            }
        )
    return result


def expected(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "group": tuple(each["process_group"]),
            "operation": each["profiling_name"],
            "sizes": (each["input_sizes"], each["output_sizes"]),
            "sequence": each["collective_seq_id"],
            "record": each["record_id"],
            "state": each["state"],
            "is_retired": each["retired"],
            "created_ns": each["time_created_ns"],
            "stack": "\n".join(
                f"{frame['filename']}:{frame['line']} {frame['name']}" for frame in each["frames"]
            )
            if "frames" in each
            else None,
        }
        for each in content["entries"]
    ]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_torchs_own_dumps_are_read_as_python_reads_them(path: Path) -> None:
    data = path.read_bytes()
    content = json.loads(data) if path.suffix == ".json" else pickle.loads(data)
    assert rows(read(data, path.name)) == expected(content)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(6))
def test_dumps_of_any_protocol_are_read_and_json_says_the_same(seed: int, protocol: int) -> None:
    job = planted(seed, "sleep")
    for content in job.dumps.values():
        tables = read(pickle.dumps(content, protocol))
        assert rows(tables) == expected(content)
        as_json = read(json.dumps(content).encode(), "fr_trace_rank_0.json")
        for name, frame in tables.items():
            if name != "flight_dumps":
                assert frame.equals(as_json[name])


@pytest.mark.parametrize(
    ("group", "key"),
    [
        ({"process_group": ("dp", "gradients")}, ("dp", "gradients")),
        ({"process_group": ["dp", "gradients"]}, ("dp", "gradients")),
        ({"process_group": "dp"}, ("dp", "")),
        ({"process_group": None, "pg_name": "dp"}, ("", "")),
        ({"pg_name": "dp"}, ("dp", "")),
        ({}, ("7", "")),
    ],
)
def test_groups_of_older_releases(group: dict[str, Any], key: tuple[str, str]) -> None:
    old = entry(0, pg_id=7, seq_id=5)
    for name in ("process_group", "collective_seq_id", "p2p_seq_id", "is_p2p"):
        del old[name]
    if group.get("process_group", "") is None:
        key = ("7", "")
    tables = read(pickle.dumps({"version": "1.3", "entries": [old | group]}, 2))
    (row,) = rows(tables)
    assert (row["group"], row["sequence"]) == (key, 5)


def test_the_bare_list_of_the_first_releases_is_read() -> None:
    assert len(rows(read(json.dumps([entry(0), entry(1)]).encode(), "a_0.json"))) == 2


def test_members_and_counters_are_those_of_the_process() -> None:
    content = dump([entry(0)], {"0": ("default_pg", [0, 1]), "9": ("tp", [1, 0])})
    content["pg_status"] = {
        "0": {
            "last_enqueued_collective": 4,
            "last_started_collective": -1,
            "last_completed_collective": 3,
        }
    }
    groups = read(pickle.dumps(content, 2))["flight_groups"]
    assert groups.select("pg_id", "name", "description", "ranks").rows() == [
        (0, "0", "default_pg", [0, 1]),
        (None, "9", "tp", [1, 0]),
    ]
    counters = groups.select("last_enqueued", "last_started", "last_completed")
    assert counters.rows() == [(4, -1, 3), (None, None, None)]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_3", 3),
        ("comm_lib_trace_rank_12", 12),
        ("/tmp/job7/fr_dump5", 5),
        ("fr_trace_json_rank_1.json", 1),
        ("dump-0003.pickle.gz", 3),
        ("a2a_rank4_try2", 4),
        ("dump", None),
    ],
)
def test_the_rank_is_in_the_name(name: str, rank: int | None) -> None:
    assert rank_of_dump(name) == rank


def test_a_file_that_ends_early_is_read_to_there() -> None:
    content = dump([entry(number) for number in range(50)], GROUPS)
    for data, name in (
        (pickle.dumps(content, 2), "fr_trace_rank_0"),
        (json.dumps(content).encode(), "fr_trace_rank_0.json"),
    ):
        columns = columns_of(data[: len(data) * 3 // 4], name)
        tables = {table.name: table.frame for table in columns.side}
        assert 20 < tables["flight_entries"].height < 50
        assert rows(tables)[:20] == expected(content)[:20]
        assert tables["flight_dumps"]["is_partial"].to_list() == [True]
        assert columns.quality.counts["truncated"] == 1


def test_what_is_no_entry_is_counted_and_odd_values_are_null() -> None:
    odd = entry(1, state="odd", collective_seq_id="many", time_created_ns=-5, input_sizes=[["x"]])
    columns = columns_of(pickle.dumps(dump([entry(0), None, {}, odd], GROUPS), 2))  # type: ignore[list-item]
    assert columns.quality.counts["side_row_left_out"] == 2
    tables = {table.name: table.frame for table in columns.side}
    row = tables["flight_entries"].row(1, named=True)
    assert (row["state"], row["sequence"], row["created_ns"]) == (None, None, None)
    assert tables["flight_calls"]["input_sizes"].to_list() == ["[[8]]", "[[?]]"]


@pytest.mark.parametrize("odd", ["--5", "-", "\u0663", "9" * 30, "\ud800", "\x00"])
def test_odd_texts_where_numbers_and_names_are(odd: str) -> None:
    odd_values = {"pg_id": odd, "collective_seq_id": odd, "process_group": (odd, odd)}
    data = pickle.dumps(dump([entry(0), entry(1, **odd_values)], GROUPS), 2)
    tables = {table.name: table.frame for table in columns_of(data).side}
    assert tables["flight_entries"]["sequence"].to_list() == [1, None]


def test_json_that_nests_too_deep_is_an_error() -> None:
    with pytest.raises(TraceFormatError):
        columns_of(b'{"pg_config": {}, "entries": [' + b"[" * 100_000, "dump_0.json")


class _Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("this must not be printed",)


def test_a_pickle_that_would_run_something_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    content: dict[str, Any] = dump([entry(0)], GROUPS)
    content["entries"].append(_Runs())
    with pytest.raises(TraceFormatError, match="not safe to read") as caught:
        columns_of(pickle.dumps(content, 2))
    assert caught.value.code == "unsafe_pickle"
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "name", "is_dump"),
    [
        (pickle.dumps(dump([entry(0)], GROUPS), 2), "nccl_trace_rank_0", True),
        (pickle.dumps(dump([entry(0)], GROUPS), 2), "x.pickle", True),
        (json.dumps(dump([entry(0)], GROUPS)).encode(), "x.json", True),
        (pickle.dumps({"segments": [], "device_traces": []}, 4), "x.pickle", False),
        (pickle.dumps({"weights": [1]}, 2), "model_rank_0", False),
        (b'{"distributedInfo": {"pg_config": [], "nccl_version": "2"},', "x.json", False),
        (b'{"entries": [], "name": "x"}', "x.json", False),
        (b"log of rank 0", "log_rank_0", False),
    ],
)  # fmt: skip
def test_content_decides(content: bytes, name: str, is_dump: bool) -> None:
    detected = detect_format(content, name, is_whole=True)
    assert (detected.is_trace and detected.format == FORMAT.name) == is_dump


def test_a_dump_without_calls_and_groups_is_an_error() -> None:
    with pytest.raises(TraceFormatError, match="without any call"):
        columns_of(json.dumps({"entries": [], "pg_status": {}, "version": "2"}).encode(), "a.json")


def test_times_are_since_1970() -> None:
    tables = read(pickle.dumps(dump([entry(3)], GROUPS), 2))
    assert tables["flight_entries"]["created_ns"].to_list() == [START_NS + 3_000_000]
