"""``report --reports``: DLProf's files under DLProf's names."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from tests.cli.conftest import Done
from tests.helpers.traces import kernel
from torch_tb_profiler.reports.dlprof.registry import REPORTS

Run = Callable[..., Done]
WHOLE_RUN = Path(__file__).parent.parent / "data" / "recorded_run"
"""Step times of a whole run, as ``record`` writes them."""


@pytest.fixture(scope="session")
def trained(samples: Path) -> Path:
    """A CPU training recording with modules and steps."""
    (path,) = (samples / "cpu_resnet_full").glob("*.json.gz")
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_all_reports_are_written_into_a_new_folder(run: Run, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "reports"
    done = run("report", trained, "--reports", "all", "--formats", "csv,json", "--output", folder)
    assert done.code == 0, done.err
    names = sorted(f"dlprof_{name}.{suffix}" for name in REPORTS for suffix in ("csv", "json"))
    assert sorted(os.listdir(folder)) == names
    detail = rows(folder / "dlprof_detail.csv")
    assert list(detail[0])[:7] == [
        *("Op ID", "Op Name", "Direction", "Op Type", "No. Calls"),
        *("TC Eligibility", "Using TC"),
    ]
    assert len({row["Op ID"] for row in detail}) == len(detail)
    same = json.loads((folder / "dlprof_detail.json").read_bytes())["detail"]
    assert [row["Op ID"] for row in same] == [row["Op ID"] for row in detail]


def test_existing_files_are_not_overwritten(run: Run, trained: Path, tmp_path: Path) -> None:
    command = ("report", trained, "--reports", "summary", "--output", tmp_path)
    (tmp_path / "dlprof_summary.csv").write_text("mine")
    refused = run(*command)
    assert refused.code == 2
    assert "--force" in refused.err
    assert (tmp_path / "dlprof_summary.csv").read_text() == "mine"
    assert run(*command, "--force").code == 0
    assert (tmp_path / "dlprof_summary.csv").read_text().startswith("System")
    assert run(*command, "--base-name", "other").code == 0
    assert (tmp_path / "other_summary.csv").exists()


def test_another_key_node_and_range(run: Run, trained: Path, tmp_path: Path) -> None:
    key = ("--key-node", "aten::conv2d", "--iter-start", "1", "--iter-stop", "2")
    done = run("report", trained, "--reports", "summary,detail", *key, "--output", tmp_path)
    assert done.code == 0, done.err
    summary = (tmp_path / "dlprof_summary.csv").read_text()
    assert "Aggregated Iterations,2" in summary
    assert "Iteration Start,1" in summary
    assert f"Profile Name,{trained.parent.name}.worker0" in summary
    names = [row["Op Name"] for row in rows(tmp_path / "dlprof_detail.csv")]
    assert sum(name.rpartition("/")[2].startswith("aten::conv2d") for name in names) >= 1


@pytest.mark.parametrize("column", ["Op ID", "Op Name"])
def test_a_key_node_may_be_what_detail_prints(
    run: Run, trained: Path, tmp_path: Path, column: str
) -> None:
    """Each end of its calls is an iteration boundary, so their number is one less."""
    detail = ("report", trained, "--reports", "detail", "--output", tmp_path)
    assert run(*detail).code == 0
    by_name = {row["Op Name"]: row for row in rows(tmp_path / "dlprof_detail.csv")}
    row = by_name[min(name for name in by_name if name.endswith("/aten::linear"))]
    key = ("--reports", "summary", "--output", tmp_path, "--key-node", row[column])
    done = run("report", trained, *key)
    assert done.code == 0, done.err
    total = int(row["No. Calls"]) + 1
    assert f"Total Iterations,{total}\n" in (tmp_path / "dlprof_summary.csv").read_text()


def test_the_ops_of_the_summary_are_the_rows_of_detail(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    (file,) = (samples / "h100_bert_small").glob("*.json.gz")
    assert run("report", file, "--reports", "summary,detail", "--output", tmp_path).code == 0
    detail = rows(tmp_path / "dlprof_detail.csv")
    using = [row for row in detail if row["Using TC"] == "yes"]
    only_eligible = [
        row for row in detail if row["TC Eligibility"] == "yes" and row["Using TC"] != "yes"
    ]
    lines = (tmp_path / "dlprof_summary.csv").read_text().splitlines()
    counts = {line.split(",")[0]: line.split(",")[3] for line in lines if "Ops" in line}
    assert counts == {
        "Class": "# Ops",
        "All Ops": str(len(detail)),
        "Ops Using TC": str(len(using)),
        "Ops Eligible For TC But Not Using": str(len(only_eligible)),
        "All Other Ops": str(len(detail) - len(using) - len(only_eligible)),
    }


def test_step_times_beside_a_window_are_no_second_trace(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    copytree(WHOLE_RUN, logs)
    (logs / "vm_22478.1769602346000.pt.trace.json.gz").write_bytes(trained.read_bytes())
    command = ("report", logs, "--reports", "summary", "--output")
    done = run(*command, tmp_path / "windows")
    assert done.code == 0, done.err
    assert os.listdir(tmp_path / "windows") == ["dlprof_summary.csv"]
    assert "Span 'whole run' is left out" in done.err
    done = run(*command, tmp_path / "steps", "--span", "whole run")
    assert done.code == 0, done.err
    text = (tmp_path / "steps" / "dlprof_summary.csv").read_text()
    assert "CPU Duration (%),\nOther Duration (%),\n" in text
    assert "All Ops,,,\n" in text


def test_the_profile_name_is_the_base_name_that_was_given(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    command = ("report", trained, "--reports", "summary", "--output", tmp_path)
    assert run(*command, "--base-name", "nightly").code == 0
    assert "Profile Name,nightly\n" in (tmp_path / "nightly_summary.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--reports", "details"), "There is no report 'details'"),
        (("--reports", "all", "--formats", "xlsx"), "There is no format 'xlsx'"),
        (("--reports", "all", "--base-name", "../x"), "--base-name"),
        (("--reports", ","), "--reports is empty"),
        (("--reports", "all", "--formats", ""), "--formats is empty"),
        (("--reports", "all", "--iter-start", "1", "--steps", "2"), "mean the same"),
        (("--reports", "all", "--iter-stop", "1", "--steps", "2"), "mean the same"),
    ],
)
def test_bad_usage(
    run: Run, trained: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run("report", trained, *arguments, "--output", tmp_path)
    assert done.code == 2
    assert message in done.err
    assert os.listdir(tmp_path) == []


def test_all_beside_a_name_is_all(run: Run, trained: Path, tmp_path: Path) -> None:
    done = run("report", trained, "--reports", "kernel,all", "--output", tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "dlprof_detail.csv").exists()


def test_several_traces_have_separate_files(run: Run, samples: Path, tmp_path: Path) -> None:
    ranks = samples / "cpu_ddp4_gloo"
    done = run("report", ranks, "--reports", "op_type", "--output", tmp_path)
    assert done.code == 0, done.err
    assert len(os.listdir(tmp_path)) == 4
    assert all(name.endswith(".dlprof_op_type.csv") for name in os.listdir(tmp_path))


def test_domains_and_unknown_key_nodes(run: Run, samples: Path, tmp_path: Path) -> None:
    (rank, *_) = sorted((samples / "cpu_ddp4_gloo").glob("*.json.gz"))
    command = ("report", rank, "--reports", "group_node", "--output", tmp_path)
    done = run(*command, "--domains", "pytorch")
    assert done.code == 0, done.err
    assert "dlprof_group_node_pytorch.csv" in os.listdir(tmp_path)
    wrong = run(*command, "--force", "--key-node", "aten::conv9d")
    assert "There is no key node 'aten::conv9d'" in wrong.err
    assert wrong.code == 2


def test_phase_boundaries_reach_the_reports(run: Run, trained: Path, tmp_path: Path) -> None:
    command = ("report", trained, "--reports", "detail", "--phase", "forward")
    assert run(*command, "--output", tmp_path / "found").code == 0
    done = run(*command, "--forward-start", "aten::linear", "--output", tmp_path / "given")
    assert done.code == 0, done.err
    result, given = (rows(tmp_path / name / "dlprof_detail.csv") for name in ("found", "given"))
    assert 0 < len(given) < len(result)


def test_kernels_alone_are_enough_for_the_reports_about_them(run: Run, tmp_path: Path) -> None:
    """As in DLProf's simple mode: the host was not recorded."""
    events = [kernel("gemm", 10, 20), kernel("gemm", 40, 30)]
    (tmp_path / "device.json").write_text(json.dumps({"traceEvents": events}))
    out = tmp_path / "out"
    done = run("report", tmp_path / "device.json", "--reports", "all", "--output", out)
    assert done.code == 0, done.err
    assert "Report detail is left out" in done.err
    assert len(rows(out / "dlprof_iteration.csv")) == 2
    (row,) = rows(out / "dlprof_kernel.csv")
    assert (row["Kernel Name"], row["Total GPU Time (ns)"]) == ("gemm", "50000")


def test_a_trace_without_data_for_any_report_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    done = run("report", tmp_path / "empty.json", "--reports", "all", "--output", tmp_path / "out")
    assert done.code == 3
    assert "Report summary is left out" in done.err


def test_a_folder_that_cannot_be_made_is_an_error(run: Run, samples: Path, tmp_path: Path) -> None:
    (file,) = (samples / "h100_bert_small").glob("*.json.gz")
    (tmp_path / "file").touch()
    done = run("report", file, "--reports", "summary", "--output", tmp_path / "file" / "out")
    assert done.code == 2
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err


def test_the_range_of_all_iterations_has_the_numbers_of_the_default(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    """Some of this rank's kernels have no launch in the file, and so no iteration."""
    (rank,) = (samples / "dlrm_8_ranks").glob("worker1_*.json.gz")
    texts = []
    for name, options in (
        ("default", ()),
        ("named", ("--iter-start", "10", "--iter-stop", "10")),
        ("open", ("--iter-start", "10")),
        ("wider", ("--iter-start", "0", "--iter-stop", "80")),
        ("one", ("--steps", "10")),
    ):
        command = ("report", rank, "--reports", "summary", "--output", tmp_path / name)
        done = run(*command, *options)
        assert done.code == 0, done.err
        texts.append((tmp_path / name / "dlprof_summary.csv").read_text())
    assert set(texts) == {texts[0]}


def test_all_shares_of_gpus_have_one_denominator(run: Run, samples: Path, tmp_path: Path) -> None:
    """One of four visible GPUs runs kernels: while one runs, it is utilized."""
    file = min((samples / "kineto_resnet50_nw0").glob("*.json.gz"))
    assert run("report", file, "--reports", "summary", "--output", tmp_path).code == 0
    lines = (tmp_path / "dlprof_summary.csv").read_text().splitlines()
    figures = {line.split(",")[0]: line.split(",")[1] for line in lines if " (%)," in line}
    kernels = ("Tensor Core Kernel Duration (%)", "Non-Tensor Core Kernel Duration (%)")
    utilization = float(figures["GPU Utilization (%)"])
    assert utilization == pytest.approx(sum(float(figures[name]) for name in kernels))
    assert 0 < utilization < 25


def test_without_iterations_none_is_counted(run: Run, samples: Path, tmp_path: Path) -> None:
    (file,) = (samples / "torch_compile_triton").glob("*.json.gz")
    done = run("report", file, "--reports", "summary", "--output", tmp_path)
    assert done.code == 0, done.err
    text = (tmp_path / "dlprof_summary.csv").read_text()
    assert "Total Iterations,0\nAggregated Iterations,0\nIteration Start,\n" in text


def test_an_unknown_domain_is_refused_before_anything_is_written(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "reports"
    command = ("report", trained, "--reports", "all", "--output", folder, "--domains")
    refused = run(*command, "pytorch,nonsense")
    assert refused.code == 2
    assert "no user ranges of the domain 'nonsense'; there are pytorch" in refused.err
    assert not folder.exists()
    assert run(*command, "pytorch").code == 0
    assert (folder / "dlprof_group_node_pytorch.csv").exists()


def test_files_of_a_header_alone_say_why(run: Run, trained: Path, tmp_path: Path) -> None:
    done = run("report", trained, "--reports", "iteration", "--output", tmp_path)
    assert done.code == 0
    assert rows(tmp_path / "dlprof_iteration.csv") == []
    assert "Report iteration has no rows: No device work was launched" in done.err


def test_traces_without_the_key_node_are_left_out_where_others_have_it(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    """One of two recordings in a folder calls it: one set of reports, and a word on the other."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("cpu_resnet_full", "cpu_slowloader_nw0"):
        (file,) = (samples / name).glob("*.json.gz")
        (logs / file.name).write_bytes(file.read_bytes())
    folder = tmp_path / "reports"
    command = ("report", logs, "--reports", "summary", "--output", folder, "--force")
    done = run(*command, "--key-node", "aten::unsqueeze")
    assert done.code == 0, done.err
    (written,) = os.listdir(folder)
    assert "worker0" in written
    assert "nw0" in done.err
    assert "is left out: There is no key node 'aten::unsqueeze'" in done.err
    assert run(*command, "--key-node", "aten::conv9d").code == 2


def test_a_report_whose_view_shows_other_tables_is_left_out(run: Run, tmp_path: Path) -> None:
    """MindSpore's sums of operator types without a timeline."""
    recorded = WHOLE_RUN.parent / "mindspore_r1" / "profiler"
    done = run("report", recorded, "--reports", "op_type,summary", "--output", tmp_path)
    assert "Report op_type is left out: The view operator_types of this recording has" in done.err
    assert "Traceback" not in done.err
    assert any(name.endswith("dlprof_summary.csv") for name in os.listdir(tmp_path))
