"""Roles of one job in files and folders are one run; folders that are called alike are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.discovered import looked_into
from torch_tb_profiler.knowledge.job_roles import COLOCATED, role_of_worker
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.role_folders import GENERATING, SERVERS, TOOL_FOLDERS, USING

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
MINUTE_NS = 60 * 10**9
STAMP = 1795226204998602646


def runs(logdir: Path, *names: str) -> dict[str, list[str]]:
    for name in names:
        file = logdir / "x" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [EVENT]}))
    workers: dict[str, list[str]] = {}
    for each in looked_into(open_location(str(logdir))).files:
        workers.setdefault(each.run.removeprefix("x/"), []).append(each.worker)
    return workers


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["17.5-TP-0-EXTEND.trace.json", "17.5-TP-0-DECODE.trace.json"],
            {"17.5": ["TP-0-DECODE", "TP-0-EXTEND"]},
        ),
        (
            ["17.5-TP-0-EXTEND.trace.json", "18.5-TP-0-DECODE.trace.json"],
            {"17.5-EXTEND": ["TP-0"], "18.5-DECODE": ["TP-0"]},
        ),
        (
            ["rollout_generate/prof_rank-0.json", "actor_update/prof_rank-0.json"],
            {"x": ["actor_update-rank-0", "rollout_generate-rank-0"]},
        ),
        (
            ["rollout/rank0.json", "rollout/rank1.json", "train/rank0.json", "eval/rank0.json"],
            {"x": ["rollout-rank0", "rollout-rank1", "train-rank0"], "eval": ["rank0"]},
        ),
        (
            ["rollout_rank0.json", "rollout_rank1.json", "trainer_rank0.json"],
            {"x": ["rollout-rank0", "rollout-rank1", "trainer-rank0"]},
        ),
        (
            ["decode_0/TP-0.json", "decode_1/TP-0.json", "prefill_0/TP-0.json"],
            {"x": ["decode_0-TP-0", "decode_1-TP-0", "prefill_0-TP-0"]},
        ),
        (
            [f"prefill/h_1.{STAMP}.pt.trace.json", f"decode/h_2.{STAMP + 1}.pt.trace.json"],
            {"x": ["decode-h_2", "prefill-h_1"]},
        ),
    ],
)
def test_roles_of_one_job_are_one_run(
    tmp_path: Path, names: list[str], expected: dict[str, list[str]]
) -> None:
    assert runs(tmp_path, *names) == expected


@pytest.mark.parametrize(
    "names",
    [
        ["train/rank0.json", "eval/rank0.json"],  # evaluation is no role
        ["train/rank0.json", "reference/rank0.json"],  # perhaps a reference to compare with
        ["prefill/trace.json", "decode/trace.json"],  # benchmarks of one process
        ["bs8_prefill.json", "bs8_decode.json"],
        [
            f"prefill/h_1.{STAMP}.pt.trace.json",
            f"decode/h_2.{STAMP + 90 * MINUTE_NS}.pt.trace.json",
        ],
        ["rollout/a_rank0.json", "rollout/b_rank0.json", "train/rank0.json"],  # two runs in one
        ["rollout/rank0.json", "train/rank0.json", "rank0.json", "rank1.json"],  # the parent is one
    ],
)
def test_what_only_looks_alike_stays_apart(tmp_path: Path, names: list[str]) -> None:
    found = runs(tmp_path, *names)
    assert not any(
        "-rank" in worker or "-h_" in worker for each in found.values() for worker in each
    )
    assert len(found) > 1


@pytest.mark.parametrize("folder", [*TOOL_FOLDERS, *GENERATING, *USING, *SERVERS])
def test_every_folder_states_a_role(folder: str) -> None:
    role = role_of_worker(f"{folder}-rank0")
    assert role is not None
    assert role != COLOCATED


def test_ranks_of_mindspore_with_a_folder_each_are_one_run(tmp_path: Path) -> None:
    for rank in range(3):
        folder = tmp_path / "x" / "job" / f"rank_{rank}" / "profiler"
        folder.mkdir(parents=True)
        (folder / f"hccl_raw_{rank}.csv").write_text("step_num\n")
    assert runs(tmp_path) == {"job/profiler": ["rank_0", "rank_1", "rank_2"]}


def test_one_folder_called_profiler_stays_as_it_is(tmp_path: Path) -> None:
    names = ["profiler/rank0.json", "rank_0/profiler/trace.json", "rank_1/rank1.json"]
    found = runs(tmp_path, *names)
    assert {"profiler", "rank_0/profiler", "rank_1"} <= {run.removeprefix("x/") for run in found}
