"""``report``: every format on a real trace, several traces and views, every invalid input.

The numbers are those of the predecessor on its own sample.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.cli.conftest import Done
from tests.helpers.traces import op
from tests.importers.kineto.test_header_types import with_odd
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.reports.text import display_width
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.views.registry import view_named

Run = Callable[..., Done]


def _get(path: Path, url: str) -> bytes:
    """The answer of the HTTP server for the same path."""
    client = Client(standalone_app(Site(Catalog([TraceRoot(str(path))], cache=None), "standalone")))
    while (response := client.get(url)).status_code == 202:
        pass
    assert response.status_code == 200, response.text
    data: bytes = response.data
    return data


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        (["--view", "overview"], "/api/view/overview"),
        (
            ["--view", "operators", "--sort=-host_self_us", "--limit", "3", "--steps", "6:7"],
            "/api/view/operators?sort=-host_self_us&limit=3&steps=6:7",
        ),
        (
            ["--view", "kernels", "--filter", "name~gemm;calls>=10", "--offset", "1"],
            "/api/view/kernels?filter=name~gemm%3Bcalls%3E%3D10&offset=1",
        ),
        (
            ["--view", "operators", "--group-by", "name+input_shape", "--start-us", "0"],
            "/api/view/operators?group_by=name%2Binput_shape&start_us=0",
        ),
    ],
)
def test_json_is_exactly_the_http_answer(
    run: Run, resnet: Path, arguments: list[str], url: str
) -> None:
    done = run("report", resnet, "--format", "json", *arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.encode() == _get(resnet, url) + b"\n"


def test_json_of_several_views_is_an_array_in_the_requested_order(run: Run, resnet: Path) -> None:
    done = run("report", resnet, "--format", "json", "--view", "kernels,overview")
    assert [answer["view"] for answer in done.json] == ["kernels", "overview"]
    facts = {(fact["key"], fact["scope"]): fact["value"] for fact in done.json[1]["facts"]}
    utilization = facts["gpu_utilization_pct", "GPU 0"]
    assert utilization == pytest.approx(55.51, abs=0.01)


def test_json_of_several_traces_names_each(run: Run, samples: Path) -> None:
    done = run("report", samples / "kineto_resnet50_nw0", "--format", "json")
    assert [answer["trace"]["span"] for answer in done.json] == ["1", "2"]
    one = run("report", samples / "kineto_resnet50_nw0", "--format", "json", "--span", "2")
    assert one.json == done.json[1]


def test_a_table_fits_100_columns_and_lists_omitted_ones(run: Run, resnet: Path) -> None:
    done = run("report", resnet, "--view", "overview,operators,kernels")
    lines = done.out.split("\n")
    assert max(map(display_width, lines)) <= 100
    assert any(line.startswith("Operators (20 of 7") for line in lines)
    assert "\x1b" not in done.out
    everything = run("report", resnet, "--view", "operators", "--limit", "all")
    assert everything.out.count("\naten::") > 50


def test_the_heading_shows_the_time_range(run: Run, resnet: Path) -> None:
    def heading(*ends: str) -> str:
        done = run("report", resnet, "--view", "kernels", "--limit", "1", *ends)
        return done.out.split("\n", maxsplit=1)[0].rsplit(" · ", maxsplit=1)[1]

    assert heading("--start-us", "5") == "from 5.000 µs"
    assert heading("--end-us", "9000000") == "to 9,000,000.000 µs"
    assert heading("--start-us", "5", "--end-us", "9000000") == "5.000 to 9,000,000.000 µs"


def test_columns_and_rows_of_a_table_can_be_chosen(run: Run, resnet: Path) -> None:
    done = run(
        "report", resnet, "--view", "operators", "--columns", "calls,name", "--limit", "2",
        "--sort", "name",
    )  # fmt: skip
    rows = done.out.rstrip().split("\n")[-2:]
    names = [row.split()[1] for row in rows]
    assert names == sorted(names)
    assert all(row.split()[0].replace(",", "").isdigit() for row in rows)


def test_csv_holds_every_row_of_the_json(run: Run, resnet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("report", resnet, "--view", "kernels",
                                               "--format", "csv").out, newline="")))  # fmt: skip
    table = run("report", resnet, "--view", "kernels", "--format", "json").json["tables"]["kernels"]
    keys = [column["key"] for column in table["columns"]]
    assert list(rows[0]) == keys
    assert len(rows) == table["row_count"] == len(table["rows"])
    for line, row in zip(rows, table["rows"], strict=True):
        values = dict(zip(keys, row, strict=True))
        assert line["name"] == values["name"]
        assert float(line["total_us"]) == values["total_us"]
        assert int(line["calls"]) == values["calls"]
        assert (line["operator"] == "") == (values["operator"] is None)


def test_csv_of_several_tables_needs_a_folder_or_a_choice(
    run: Run, resnet: Path, tmp_path: Path
) -> None:
    refused = run("report", resnet, "--format", "csv")
    assert (refused.code, refused.out) == (2, "")
    assert "--output DIR" in refused.err
    assert "--table" in refused.err
    chosen = run("report", resnet, "--format", "csv", "--table", "steps")
    assert chosen.out.startswith("step,total_us,")
    folder = tmp_path / "new" / "folder"
    assert run("report", resnet, "--format", "csv", "--output", folder).code == 0
    answered = run("report", resnet, "--format", "json").json["tables"]
    tables = {f"overview.{name}.csv" for name in answered}
    assert {path.name for path in folder.iterdir()} == tables
    assert set(answered) <= {table.name for table in view_named("overview").tables}
    assert (folder / "overview.steps.csv").read_bytes().decode() == chosen.out


def test_files_of_several_traces_have_distinct_names(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    done = run("report", samples / "kineto_resnet50_nw0", "--format", "json", "--output", tmp_path)
    assert (done.code, done.out) == (0, "")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"kineto_resnet50_nw0.worker0.{span}.overview.json" for span in ("1", "2")]
    assert json.loads((tmp_path / names[0]).read_text())["view"] == "overview"


def test_markdown_has_a_table(run: Run, resnet: Path) -> None:
    done = run("report", resnet, "--format", "md", "--view", "operators", "--limit", "3")
    assert done.out.startswith("## Operators: kineto\\_resnet50\\_nw0")
    assert sum(line.startswith("| aten::") for line in done.out.split("\n")) == 3


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--view", "kernel"], "Did you mean kernels"),
        (["--view", ","], "torch-tb-profiler views"),
        (["--view", "operators", "--group-by", "colour"], "name+input_shape"),
        (["--view", "operators", "--sort", "-nothing"], "nothing"),
        (["--view", "operators", "--filter", "nothing=1"], "nothing"),
        (["--view", "operators", "--columns", "nmae"], "name"),
        (["--table", "stepz"], "steps"),
        (["--steps", "99"], "99"),
        (["--steps", "a:b"], "a:b"),
        (["--start-us", "soon"], "soon"),
        (["--start-us", "5", "--end-us", "4"], "after"),
        (["--limit", "-1"], "-1"),
        (["--limit", "9" * 4000], "1000000000"),
        (["--offset", "x"], "x"),
        (["--run", "nowhere"], "kineto_resnet50_nw0"),
        (["--span", "7"], "There"),
    ],
)
def test_bad_usage_is_2_with_the_next_step_and_no_traceback(
    run: Run, resnet: Path, arguments: list[str], hint: str
) -> None:
    done = run("report", resnet, *arguments)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err
    assert done.err.startswith("torch-tb-profiler: error: ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "arguments", [[], ["report"], ["report", "x", "--format", "xml"], ["frob"]]
)
def test_errors_of_argparse_are_2(run: Run, arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert "usage: torch-tb-profiler" in done.err


def _bad_inputs(folder: Path) -> dict[str, tuple[Path, str]]:
    """Kind → path, and a word of the reason that must be reported."""
    (folder / "text.json").write_text("once upon a time")
    (folder / "empty.json").write_bytes(b"")
    (folder / "other.json").write_text('{"name": "package", "version": 1}')
    (folder / "no traces").mkdir()
    (folder / "no traces" / "notes.json").write_text("{}")
    return {
        "not json": (folder / "text.json", "text.json"),
        "empty": (folder / "empty.json", "empty"),
        "json of something else": (folder / "other.json", "other.json"),
        "a folder without a trace": (folder / "no traces", "*.pt.trace.json"),
        "missing": (folder / "missing.json", "does not exist"),
    }


@pytest.mark.parametrize(
    "kind",
    ["not json", "empty", "json of something else", "a folder without a trace", "missing"],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_unreadable_input_is_3_with_file_and_cause(
    run: Run, tmp_path: Path, kind: str, form: str
) -> None:
    path, word = _bad_inputs(tmp_path)[kind]
    done = run("report", path, "--format", form)
    assert done.code == 3
    assert path.name in done.err
    assert word in done.err
    assert "Traceback" not in done.err
    if form == "json":
        assert set(done.json) == {"schema_version", "error"}
        assert set(done.json["error"]) == {"code", "message", "hint"}
    else:
        assert done.out == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_3(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.write_text("{}")
    path.chmod(stat.S_IWUSR)
    done = run("report", path)
    assert done.code == 3
    assert "permission" in done.err


def test_one_bad_file_does_not_affect_the_others(run: Run, resnet: Path, tmp_path: Path) -> None:
    bad = _bad_inputs(tmp_path)["not json"][0]
    done = run("report", bad, resnet, "--format", "json")
    assert done.code == 3
    assert [set(answer) == {"schema_version", "error"} for answer in done.json] == [True, False]
    assert done.json[1]["view"] == "overview"


def _trace(path: Path, events: list[dict[str, object]]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def _slice(cat: str, name: str, ts: float, dur: float, **args: object) -> dict[str, object]:
    pid = args.get("device", 1)
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 7, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([_slice("cpu_op", "aten::mm", 0, 10)], id="no steps, no GPU"),
        pytest.param([_slice("kernel", "k", 0, 10, device=0, stream=7)], id="GPU only"),
        pytest.param([_slice("kernel", "k", 0, 10, device=200, stream=7)], id="device 200"),
        pytest.param(
            [
                _slice("user_annotation", "ProfilerStep#1", 0, 0),
                _slice("user_annotation", "ProfilerStep#2", 0, 10),
                _slice("cpu_op", "aten::mm", 1, 2),
            ],
            id="a step of no length",
        ),
    ],
)
def test_sparse_traces_have_an_overview(
    run: Run, tmp_path: Path, events: list[dict[str, object]]
) -> None:
    path = _trace(tmp_path / "sparse.json", events)
    for form in ("table", "json", "md"):
        done = run("report", path, "--format", form)
        assert done.code == 0, done.err
        assert re.search(r"\b(nan|inf)\b", done.out, re.IGNORECASE) is None


def test_hostile_names_reach_neither_the_terminal_nor_a_spreadsheet(
    run: Run, tmp_path: Path
) -> None:
    events = [_slice("cpu_op", "=cmd()\x1b[2J<img src=x>", 0, 10)]
    path = _trace(tmp_path / "hostile.json", events)
    table = run("report", path, "--view", "operators").out
    assert "\x1b" not in table
    assert "\\x1b[2J" in table
    text = run("report", path, "--view", "operators", "--format", "csv").out
    assert "'=cmd()" in text
    assert "<img" not in run("report", path, "--view", "operators", "--format", "md").out


def test_a_second_report_comes_from_the_cache_and_is_identical(
    run: Run, resnet: Path, tmp_path: Path
) -> None:
    arguments = ("report", resnet, "--format", "json", "--view", "overview,operators,kernels")
    fresh = run(*arguments, "--no-cache")
    first = run(*arguments, "--cache-dir", tmp_path)
    second = run(*arguments, "--cache-dir", tmp_path)
    assert fresh.out == first.out == second.out
    assert (first.err, second.err) == ("", "")
    assert any(tmp_path.rglob("*"))


def test_an_unwritable_output_is_reported(run: Run, resnet: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("report", resnet, "--format", "json", "--output", tmp_path / "file" / "x")
    assert done.code == 2
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("odd", [True, 2.5, "x", 2**70, [1], {}], ids=repr)
def test_an_outlier_rank_is_named_by_the_report_of_its_folder(
    run: Run, tmp_path: Path, odd: object
) -> None:
    for number, size in enumerate([2, odd]):
        header = with_odd(("distributedInfo", "world_size"), size)
        header["distributedInfo"]["rank"] = number
        path = tmp_path / f"rank{number}.pt.trace.json"
        path.write_text(json.dumps({**header, "traceEvents": [call_of_a_collective()]}))

    done = run("report", tmp_path, "--view", "all", "--format", "json", "--no-cache")

    assert done.code == 0, done.err
    notes = [note for answer in done.json for note in answer["notes"]]
    mine = [note for note in notes if note["code"] == "header_value"]
    assert any(note["text"].startswith("rank1: ") for note in mine)
    assert any("distributedInfo.world_size: " in str(note["evidence"]) for note in mine)


def call_of_a_collective() -> dict[str, object]:
    args = {"Collective name": "allreduce", "In msg nelems": 6, "dtype": "Float"}
    return op("nccl:all_reduce", 1, 5, cat="user_annotation") | {"args": args}


def test_a_closed_pipe_is_not_an_error(resnet: Path) -> None:
    command = [sys.executable, "-m", "torch_tb_profiler", "report", str(resnet), "--no-cache",
               "--view", "operators,kernels", "--format", "json"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_piped_process_prints_only_the_answer(spawn: Run, resnet: Path) -> None:
    done = spawn("report", resnet, "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert done.json["view"] == "overview"
