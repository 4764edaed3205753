"""``dlprof``: command lines as scripts have them, against what DLProf's help says they mean."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.dlprof_command import (
    existing_recording,
    record_command_line,
    report_command,
    without_effect,
)
from torch_tb_profiler.cli.record_arguments import contradictions, program_command

Run = Callable[..., Done]


@pytest.mark.parametrize(
    ("line", "recorded", "reported"),
    [
        (
            "dlprof --mode=pytorch --reports=summary,detail --output_path=out python t.py --lr 1",
            "--output=out/ --name=nsys_profile --scalars=event_files -- python t.py --lr 1",
            "--reports=summary,detail --formats=csv --base-name=dlprof --output=out",
        ),
        (
            "dlprof -f true -v quiet --iter_start 20 --iter_stop 80 --reports=all python t.py",
            "--output=./ --name=nsys_profile --steps 20:80 --stacks --scalars=event_files "
            "--quiet -- python t.py",
            "--reports=all --formats=csv --base-name=dlprof --output=. --force",
        ),
        (
            "dlprof --mode=simple --reports=kernel --formats=json -b true -y 10 -d 2.5 python t.py",
            "--output=./ --name=nsys_profile --delay=10 --duration=2.5 --no-shapes -- python t.py",
            "--reports=kernel --formats=json --base-name=dlprof --output=.",
        ),
        (
            "dlprof --nsys_profile_range=true --reports=summary --iter_stop=4 -b true python t.py",
            "--output=./ --name=nsys_profile --program-range -- python t.py",
            "--reports=summary --formats=csv --base-name=dlprof --output=. --iter-stop=4",
        ),
        (
            "dlprof --key_op=aten::mm --iter_start=3 --nsys_base_name=raw/job7 -b true "
            "--profile_name=p7 --domains=a,b --dump_model_data=true -- python t.py",
            "--output=./raw --name=job7 --steps 0:999999999 -- python t.py",
            "--reports= --formats=csv --base-name=p7 --output=. --domains=a,b "
            "--key-node=aten::mm --iter-start=3 --dump-model-data",
        ),
    ],
)
def test_a_command_line_is_those_of_record_and_report(
    line: str, recorded: str, reported: str
) -> None:
    arguments = make_parser().parse_args(shlex.split(line))
    command = record_command_line(arguments, program_command(arguments.program))
    assert shlex.join(command) == f"record {recorded}"
    assert contradictions(make_parser().parse_args(command)) == []
    report = report_command(arguments, "logs")
    assert shlex.join(report) == f"report logs {reported}"
    make_parser().parse_args(report)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("dlprof python t.py", ["steps 5 to 9"]),
        ("dlprof --delay=1 python t.py", []),
        ("dlprof --delay=1 --iter_stop=4 python t.py", ["--delay and --duration have no effect"]),
        ('dlprof --nsys_opts "-t cuda -s none" -d 9 python t.py', ["--nsys_opts has no effect"]),
        ("dlprof --nsys_profile_range=true python t.py", []),
        ("dlprof --nsys_profile_range=true -d 9 python t.py", ["the program marks"]),
        ("dlprof --nsys_database=x.sqlite python t.py", ["program is not run"]),
    ],
)
def test_what_means_nothing_here_is_said_once(line: str, words: list[str]) -> None:
    arguments = make_parser().parse_args(shlex.split(line))
    lines = list(without_effect(arguments, has_program=bool(arguments.program)))
    assert len(lines) == len(words)
    assert all(word in text for word, text in zip(words, lines, strict=True))


def test_reports_of_a_recording(run: Run, samples: Path, tmp_path: Path) -> None:
    (file,) = (samples / "h100_bert_small").glob("*.json.gz")
    options = ("--output_path", tmp_path, "--profile_name=bert", "--reports=summary,kernel")
    done = run("dlprof", f"--nsys_database={file}", *options, "-b", "true", "--force=true")
    assert done.code == 0, done.err
    assert sorted(os.listdir(tmp_path)) == ["bert_kernel.csv", "bert_summary.csv"]
    assert "Profile Name,bert\n" in (tmp_path / "bert_summary.csv").read_text()
    again = run("dlprof", f"--nsys_database={file}", *options, "-b", "true")
    assert again.code == 2
    assert "exists and is not overwritten" in again.err
    assert "--output_path, or overwrite it with --force=true" in again.err


@pytest.mark.parametrize(("verbosity", "is_silent"), [("quiet", True), ("normal", False)])
def test_quiet_prints_errors_and_warnings_only(
    run: Run, samples: Path, tmp_path: Path, verbosity: str, is_silent: bool
) -> None:
    (file,) = (samples / "cpu_resnet_full").glob("*.json.gz")
    options = (f"--output_path={tmp_path}", "--reports=summary,kernel", f"--tb_dir={tmp_path}")
    done = run("dlprof", "-v", verbosity, f"--nsys_database={file}", *options)
    lines = [line for line in done.err.splitlines() if ": warning: " not in line]
    assert (done.out == "", lines == []) == (is_silent, is_silent)
    assert "warning: Report kernel has no rows" in done.err
    assert (tmp_path / "dlprof_summary.csv").exists()


def test_reports_of_recordings_of_other_frameworks(run: Run, samples: Path, tmp_path: Path) -> None:
    (file,) = (samples / "h100_bert_small").glob("*.json.gz")
    options = (f"--output_path={tmp_path}", "--reports=summary", "--suppress_tb_files=true")
    done = run("dlprof", "--mode=tensorflow2", f"--nsys_database={file}", *options)
    assert done.code == 0, done.err
    assert os.listdir(tmp_path) == ["dlprof_summary.csv"]


def test_scalars_are_written_unless_suppressed(run: Run, samples: Path, tmp_path: Path) -> None:
    (file,) = (samples / "cpu_resnet_full").glob("*.json.gz")
    done = run("dlprof", f"--nsys_database={file}", "--tb_dir", tmp_path / "events")
    assert done.code == 0, done.err
    assert list((tmp_path / "events").rglob("events.out.tfevents.*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--reports=all",), "No program is given"),
        (("--mode=tensorflow1", "python", "t.py"), "programs of PyTorch are recorded"),
        (("--reports=details", "python", "t.py"), "There is no report 'details'"),
        (("--profile_name=a/b", "--reports=all", "python", "t.py"), "'a/b' is not a file name"),
        (("--profile_name=a/b", "--reports=all", "python", "t.py"), "argument --profile_name"),
        (("--force", "python", "t.py"), "invalid choice: 'python'"),
        (
            ("--iter_start=20", "--iter_stop=10", "python", "t.py"),
            "--iter_start 20 is after --iter",
        ),
        (("--iter_start", "-3", "python", "t.py"), "argument --iter_start: '-3' is not an integer"),
        (("-y", "-5", "python", "t.py"), "argument -y/--delay: '-5' is not a number of seconds"),
        (("-d", "nan", "python", "t.py"), "argument -d/--duration: 'nan' is not a number of sec"),
        (("--key_node=", "--reports=all", "python", "t.py"), "--key_op: it is empty"),
        (("--nsys_base_name=a/..", "python", "t.py"), "argument --nsys_base_name: '..' is not a"),
        (("--tb_dir=s3://b/c", "python", "t.py"), "argument --tb_dir: 's3://b/c' is a URL"),
    ],
)
def test_mistakes_are_refused_before_the_program_runs(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run("dlprof", "--output_path", tmp_path, *arguments)
    assert done.code == 2
    assert message in done.err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("program", "code"), [("true", 3), ("false", 1)])
def test_without_a_recording_reports_are_missing(
    run: Run, tmp_path: Path, program: str, code: int
) -> None:
    done = run("dlprof", "-v", "quiet", "--output_path", tmp_path, "--reports=all", program)
    assert (done.code, "There is no report: nothing was recorded" in done.err) == (code, True)
    assert run("dlprof", "--output_path", tmp_path, "-b", "true", "true").code == 0
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_refused_before_the_program_runs(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    options = ("--output_path", tmp_path / "file" / "out", "--reports=all")
    done = run("dlprof", *options, "touch", tmp_path / "ran")
    assert done.code == 2
    assert f"{tmp_path / 'file'} is not a folder" in done.err
    assert os.listdir(tmp_path) == ["file"]


def test_the_name_of_a_database_is_the_latest_folder_recorded_under_it(tmp_path: Path) -> None:
    for number, name in enumerate(("nsys_profile", "nsys_profile-2", "nsys_profile-10", "other")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (number, number))
    for place in (tmp_path / "nsys_profile.sqlite", Path("nsys_profile.sqlite")):
        latest = existing_recording(str(place), str(tmp_path))
        assert latest == str(tmp_path / "nsys_profile-10")
    database = tmp_path / "nsys_profile.sqlite"
    database.touch()
    assert existing_recording(str(database), str(tmp_path)) == str(database)
    assert existing_recording("s3://bucket/x.sqlite", ".") == "s3://bucket/x.sqlite"
    assert existing_recording("nowhere.sqlite", ".") == "nowhere.sqlite"
