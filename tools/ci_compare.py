"""The step of ``action.yml``: finds the baseline, compares, and says how it ended.

It reads the inputs of the action from variables (``INPUT_CANDIDATE`` …) and writes where GitHub
Actions says (``GITHUB_STEP_SUMMARY``, ``GITHUB_OUTPUT``). Only the standard library is used; the
comparison is ``torch-tb-profiler compare``, the baseline of the default branch and the comment are
``gh``. Without any of these variables it runs anywhere: ``INPUT_CANDIDATE=new INPUT_BASELINE=old
python tools/ci_compare.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PASSED, FAILED = 0, 1
RESULTS = {PASSED: "passed", FAILED: "failed"}
MARKER = "<!-- torch-tb-profiler compare -->"
"""How the comment of an earlier run is recognized, which is written anew."""

NO_BASELINE = (
    "### Performance: no baseline\n\nThere is nothing to compare with yet: {reason} The recordings "
    "of the default branch become the baseline of later runs.\n"
)
NOT_COMPARED = "### Performance: not checked\n\n`compare` ended with code {code}; see the log.\n"
TRACE_ENDINGS = (".pt.trace.json", ".pt.trace.json.gz", ".pftrace")
"""Files that surely are recordings; others beside them, such as a configuration, are none."""

MOST_COMMENT_CHARS = 60_000
"""GitHub takes 65,536."""


def main(environment: Mapping[str, str]) -> int:
    """Compare as the variables say.

    Returns:
        0 if the gates passed and where there is no baseline yet, 1 if one failed, 2 for bad usage,
        3 for recordings that cannot be read.
    """
    candidate = environment.get("INPUT_CANDIDATE", "").strip()
    if not candidate:
        print("::error::The input candidate is empty: name a trace or a folder of traces.")
        return 2
    report = Path(environment.get("RUNNER_TEMP") or tempfile.mkdtemp()) / "profiler-report"
    report.mkdir(parents=True, exist_ok=True)
    written = report / "summary.md"
    written.write_text("", encoding="utf-8")
    on_default_branch = environment.get("GITHUB_REF_NAME", "") == environment.get("DEFAULT_BRANCH")
    baseline, reason = _baseline(environment)
    if baseline is None:
        code, result = PASSED, "no baseline"
        written.write_text(NO_BASELINE.format(reason=reason), encoding="utf-8")
    else:
        command = _command(environment, baseline, candidate, report, written)
        code = subprocess.run(command, check=False).returncode
        result = RESULTS.get(code, "not checked")
        if not written.read_text(encoding="utf-8"):
            text = (
                f"### Performance: not checked\n\n`compare` ended with code {code}; see the log.\n"
            )
            written.write_text(text, encoding="utf-8")
    text = written.read_text(encoding="utf-8")
    _append(environment.get("GITHUB_STEP_SUMMARY"), text)
    _append(
        environment.get("GITHUB_OUTPUT"),
        f"result={result}\nreport={report}\n"
        f"is_default_branch={'true' if on_default_branch else 'false'}\n",
    )
    if environment.get("INPUT_COMMENT", "true") == "true":
        _comment(environment, text)
    return code


def _baseline(environment: Mapping[str, str]) -> tuple[str | None, str]:
    """Where the baseline is; or None and why there is none."""
    given = environment.get("INPUT_BASELINE", "").strip()
    if given:
        return given, ""
    artifact = environment.get("INPUT_BASELINE_ARTIFACT", "").strip()
    if not artifact:
        return None, "the inputs baseline and baseline-artifact are empty."
    branch = environment.get("DEFAULT_BRANCH") or "main"
    workflow = environment.get("GITHUB_WORKFLOW", "")
    listed = _gh(
        "run", "list", "--branch", branch, "--workflow", workflow, "--status", "success",
        "--limit", "10", "--json", "databaseId",
    )  # fmt: skip
    runs = json.loads(listed) if listed else []
    for run in runs:
        folder = tempfile.mkdtemp(prefix="profiler-baseline-")
        number = str(run["databaseId"])
        if _gh("run", "download", number, "--name", artifact, "--dir", folder) is not None:
            return folder, ""
    return None, f"no successful run of branch {branch} has an artifact {artifact}."


def _command(
    environment: Mapping[str, str], baseline: str, candidate: str, report: Path, summary: Path
) -> list[str]:
    command = [
        sys.executable, "-m", "torch_tb_profiler", "compare", baseline, candidate,
        "--format", "html", "--output", str(report / "report.html"), "--force",
        "--summary", str(summary),
    ]  # fmt: skip
    for variable, option in (("INPUT_FAIL_ON", "--fail-on"),
                             ("INPUT_ALLOW_DIFFERENT", "--allow-different")):  # fmt: skip
        for line in environment.get(variable, "").splitlines():
            command += [option, line.strip()] if line.strip() else []
    wanted = environment.get("INPUT_REPEATS", "auto").strip()
    several = all(_traces(side) > 1 for side in (baseline, candidate))
    return (
        [*command, "--repeats"] if wanted == "true" or (wanted == "auto" and several) else command
    )


def _traces(side: str) -> int:
    """How many files a folder of this machine has that are traces by their names; 1 for a file."""
    if not os.path.isdir(side):
        return 1
    return sum(each.name.endswith(TRACE_ENDINGS) for each in Path(side).rglob("*"))


def _comment(environment: Mapping[str, str], text: str) -> None:
    """Write the summary into the pull request, over that of an earlier run; without one nothing."""
    event = environment.get("GITHUB_EVENT_PATH", "")
    try:
        opened: dict[str, Any] = json.loads(Path(event).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    number = opened.get("pull_request", {}).get("number")
    if not isinstance(number, int):
        return
    repository = environment.get("GITHUB_REPOSITORY", "")
    body = f"{MARKER}\n{text[:MOST_COMMENT_CHARS]}"
    known = _gh(
        "api", f"repos/{repository}/issues/{number}/comments", "--paginate",
        "--jq", f'.[] | select(.body | startswith("{MARKER}")) | .id',
    )  # fmt: skip
    path, method = f"repos/{repository}/issues/{number}/comments", "POST"
    if known and known.split():
        path, method = f"repos/{repository}/issues/comments/{known.split()[0]}", "PATCH"
    if _gh("api", path, "--method", method, "--raw-field", f"body={body}") is None:
        print("::warning::The summary could not be written into the pull request: the job needs "
              "the permission pull-requests: write.")  # fmt: skip


def _gh(*arguments: str) -> str | None:
    """What ``gh`` prints; None if it fails or is not there."""
    try:
        done = subprocess.run(["gh", *arguments], check=False, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _append(path: str | None, text: str) -> None:
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main(os.environ))
