"""Every raw table of samples against the file itself, and against loops over the trace."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from torch_tb_profiler.api import open_trace
from torch_tb_profiler.sql.tables import RAW_TABLES
from torch_tb_profiler.views.schema import POLARS_TYPES

TABLES = {table.spec.name: table for table in RAW_TABLES}


@pytest.mark.parametrize("sample", ["h100_bert_small", "dlrm_8_ranks", "cpu_ddp4_gloo"])
def test_every_column_is_computed_and_has_its_type(samples: Path, sample: str) -> None:
    with open_trace(samples / sample, cache=False) as opened:
        for table in RAW_TABLES:
            keys = [column.key for column in table.spec.columns]
            frame = table.frame(opened.trace, keys)
            assert frame.columns == keys
            assert frame.dtypes == [POLARS_TYPES[column.type] for column in table.spec.columns]
            assert frame.height == table.rows(opened.trace).height


def test_slices_are_those_of_the_file(samples: Path) -> None:
    (path,) = (samples / "h100_bert_small").glob("*.json*")
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = [each for each in json.loads(text)["traceEvents"] if each.get("ph") == "X"]
    with open_trace(path, cache=False) as opened:
        frame = opened.sql(
            "select name, dur_ns, thread, recorded_category from raw.slices", max_rows=10**6
        ).frame
        work = opened.sql(
            "select category, device, stream, dur_ns, grid, correlation from raw.device_work"
        ).frame
    expected = Counter(
        (each["name"], round(each["dur"] * 1000), str(each["tid"]), each["cat"])
        for each in events
        if each["cat"] != "Trace"
    )
    assert Counter(row for row in frame.rows() if row[3] != "Trace") == expected
    kernels = [each for each in events if each["cat"] == "kernel"]
    assert Counter(row[1:] for row in work.rows() if row[0] == "kernel") == Counter(
        (each["args"]["device"], each["args"]["stream"], round(each["dur"] * 1000),
         json.dumps(each["args"]["grid"]), each["args"]["correlation"])
        for each in kernels
    )  # fmt: skip


def test_keys_join_what_the_trace_joins(samples: Path) -> None:
    with open_trace(samples / "h100_bert_small", cache=False) as opened:
        trace = opened.trace
        names = [trace.text(code) for code in trace.slices["name_code"]]
        expected: dict[str | None, int] = defaultdict(int)
        rows = trace.device_work.select("owner", "dur_ns").rows()
        for owner, dur_ns in rows:
            expected[None if owner is None else names[owner]] += dur_ns
        answer = opened.sql(
            "select s.name, sum(w.dur_ns) from raw.device_work w left join raw.slices s"
            " on s.id = w.owner group by s.name",
        ).frame
        assert dict(answer.rows()) == dict(expected)
        tracks = opened.sql(
            "select count(*) from raw.slices s join raw.tracks t on t.track = s.track"
            " where t.thread_name is not distinct from s.thread_name"
        )
        assert tracks.frame.item() == trace.slices.height


def test_collectives_have_their_metadata(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1}
    arguments = {
        "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 12, "Out msg nelems": 13,
        "Group size": 4, "Process Group Name": "7", "Process Group Description": "tp",
        "Process Group Ranks": "[0, 1, 2, 3]", "Seq": 5,
    }  # fmt: skip
    events = [
        {**event, "ts": 1, "dur": 2, "args": arguments},
        {**event, "name": "aten::mm", "ts": 5, "dur": 1},
    ]
    (tmp_path / "a.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    with open_trace(tmp_path, cache=False) as opened:
        frame = opened.sql(
            "select name, dur_ns, collective, dtype, in_nelems, out_nelems, group_size,"
            " process_group, process_group_description, process_group_ranks, sequence, src_rank,"
            " is_async from raw.collectives"
        ).frame
    assert frame.rows() == [
        ("record_param_comms", 2000, "allreduce", "Float", 12, 13, 4, "7", "tp", "[0, 1, 2, 3]", 5,
         None, None)
    ]  # fmt: skip


def test_moments_are_times_and_values_as_given(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
        {"ph": "C", "name": "load", "pid": 1, "tid": 1, "ts": 3, "args": {"a": 1.5, "b": 2}},
        {"ph": "C", "name": "load", "pid": 1, "tid": 1, "ts": 7, "args": {"a": 4.5}},
        {"ph": "i", "s": "t", "name": "mark", "pid": 1, "tid": 1, "ts": 4},
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 6,
         "args": {"Device Type": 1, "Device Id": 0, "Addr": 16, "Bytes": 512,
                  "Total Allocated": 512, "Total Reserved": 1024}},
    ]  # fmt: skip
    (tmp_path / "a.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    with open_trace(tmp_path, cache=False) as opened:
        counters = opened.sql("select at_ns, name, series, value from counters order by 1, 3")
        assert counters.frame.rows() == [
            (3000, "load", "a", 1.5), (3000, "load", "b", 2.0), (7000, "load", "a", 4.5)
        ]  # fmt: skip
        assert opened.sql("select at_ns, name from instants").frame.rows() == [(4000, "mark")]
        memory = opened.sql(
            "select m.at_ns, device_type, address, bytes, total_reserved_bytes, is_oom, s.name"
            " from memory m join slices s on s.id = m.owner"
        )
        assert memory.frame.rows() == [(6000, 1, 16, 512, 1024, False, "aten::mm")]


def test_times_of_views_meet_those_of_slices_at_the_start_of_the_recording(samples: Path) -> None:
    """A gap ends where a kernel or copy starts, also where time 0 is far from the first slice."""
    query = """
        select count(*) as gaps, count(distinct w.start_ns) as starts
        from (select r.start_ns + 1000 * (start_us + duration_us) as gap_end
              from idle.gaps g join raw.recordings r using (run, worker, span)
              where after is not null) g
        left join raw.device_work w on w.start_ns between g.gap_end - 1 and g.gap_end + 1
    """
    with open_trace(samples / "h100_bert_small", cache=False) as opened:
        assert opened.trace.meta.start_ns > 10**9
        gaps, starts = opened.sql(query).frame.row(0)
    assert gaps == starts > 50
