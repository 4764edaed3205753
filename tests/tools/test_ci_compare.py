"""The step of ``action.yml``, with the variables and files of a runner and a ``gh`` of our own."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.test_compare_gates import write
from tools.ci_compare import MARKER, main

ROOT = Path(__file__).resolve().parents[2]

GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$GH_LOG"
case "$1 $2" in
  "run list") printf '[{"databaseId": 7}, {"databaseId": 6}]' ;;
  "run download") [ "$3" = 6 ] || exit 1; cp "$GH_BASELINE" "$7/" ;;
  "api repos/o/r/issues/5/comments") case "$*" in *--jq*) printf '%s' "$GH_COMMENTS" ;; esac ;;
  api*) ;;
  *) exit 1 ;;
esac
"""


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables of a run for a pull request."""
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text(GH)
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 5}}))
    (tmp_path / "base").mkdir()
    for name, value in {
        "PATH": f"{gh.parent}{os.pathsep}{os.environ['PATH']}",
        "GH_LOG": str(tmp_path / "gh.log"),
        "GH_BASELINE": str(write(tmp_path / "base" / "old.pt.trace.json.gz")),
        "GH_COMMENTS": "",
    }.items():
        monkeypatch.setenv(name, value)
    return {
        "INPUT_CANDIDATE": str(write(tmp_path / "new.pt.trace.json.gz", mm_us=200)),
        "INPUT_BASELINE_ARTIFACT": "profiler-baseline",
        "INPUT_FAIL_ON": "average_step.total_us>+5%\n\noperators.calls>+0\n",
        "DEFAULT_BRANCH": "main",
        "GITHUB_REF_NAME": "5/merge",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path),
    }


def outputs(runner: Mapping[str, str]) -> dict[str, str]:
    lines = Path(runner["GITHUB_OUTPUT"]).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def calls() -> list[str]:
    return Path(os.environ["GH_LOG"]).read_text().splitlines()


def test_the_newest_artifact_of_the_default_branch_is_the_baseline(runner: dict[str, str]) -> None:
    assert main(runner) == 1
    assert outputs(runner)["result"] == "failed"
    assert outputs(runner)["is_default_branch"] == "false"
    page = Path(runner["GITHUB_STEP_SUMMARY"]).read_text()
    assert "### Performance: failed" in page
    assert "passed: operators" in page
    report = Path(outputs(runner)["report"])
    assert {each.name for each in report.iterdir()} == {"report.html", "summary.md"}
    assert "run download 6 --name profiler-baseline" in "\n".join(calls())


def test_a_comment_is_written_and_later_written_anew(
    runner: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(runner)
    (written,) = [call for call in calls() if "--method" in call]
    assert written.startswith(
        f"api repos/o/r/issues/5/comments --method POST --raw-field body={MARKER}"
    )
    monkeypatch.setenv("GH_COMMENTS", "31\n44\n")
    main(runner)
    assert any(
        call.startswith("api repos/o/r/issues/comments/31 --method PATCH") for call in calls()
    )


def test_no_comment_where_none_is_wanted_or_there_is_no_pull_request(
    runner: dict[str, str],
) -> None:
    main({**runner, "INPUT_COMMENT": "false"})
    main({**runner, "GITHUB_EVENT_PATH": ""})
    assert not [call for call in calls() if "--method" in call]


def test_without_a_baseline_the_first_run_passes_and_says_so(
    runner: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_BASELINE", "/nowhere")
    assert main(runner) == 0
    assert outputs(runner)["result"] == "no baseline"
    assert "no successful run of branch main" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()


def test_a_given_baseline_needs_no_gh(
    runner: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**runner, "INPUT_BASELINE": os.environ["GH_BASELINE"], "INPUT_COMMENT": "false"}
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(os.pathsep)[2])
    assert main(given) == 1


def test_folders_of_several_recordings_are_repeated(runner: dict[str, str]) -> None:
    base = Path(os.environ["GH_BASELINE"])
    new = base.parent.parent / "new"
    new.mkdir()
    for number in range(2):
        write(base.with_name(f"run{number}.pt.trace.json.gz"), mm_us=100 + number)
        write(new / f"run{number}.pt.trace.json.gz", mm_us=99 + 2 * number)
    given = {**runner, "INPUT_BASELINE": str(base.parent), "INPUT_CANDIDATE": str(new)}
    assert main(given) == 0
    assert "Over 3 and 2 recordings" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()


def test_other_files_of_a_folder_are_no_recordings(runner: dict[str, str]) -> None:
    base = Path(os.environ["GH_BASELINE"]).parent
    (base / "config.json").write_text("{}")
    new = base.parent / "new"
    new.mkdir()
    write(new / "run.pt.trace.json.gz")
    (new / "config.json").write_text("{}")
    given = {**runner, "INPUT_BASELINE": str(base), "INPUT_CANDIDATE": str(new)}
    assert main(given) == 0
    assert outputs(runner)["result"] == "passed"


def test_unreadable_recordings_are_reported_on_the_page(runner: dict[str, str]) -> None:
    code = main({**runner, "INPUT_CANDIDATE": "/nowhere/at/all"})
    assert code == 3
    assert outputs(runner)["result"] == "not checked"
    assert "ended with code 3" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()


def test_nothing_to_compare_is_bad_usage() -> None:
    assert main({}) == 2


def test_the_action_passes_every_variable_that_the_script_reads() -> None:
    """The two files agree; the inputs of the action are all used."""
    action = (ROOT / "action.yml").read_text()
    script = (ROOT / "tools" / "ci_compare.py").read_text()
    read = set(re.findall(r"INPUT_[A-Z_]+", script))
    assert read == set(re.findall(r"INPUT_[A-Z_]+", action))
    declared = re.findall(r"^  ([a-z-]+):\n    description", action.partition("outputs:")[0], re.M)
    assert declared
    assert [name for name in declared if f"inputs.{name}" not in action] == []
