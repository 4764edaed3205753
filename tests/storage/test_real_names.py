"""Real recordings under the names that tools give them: all are discovered, and no run mixes
unrelated traces."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers.discovered import discover, looked_into
from torch_tb_profiler.storage.locations import open_location

VERSIONS = "data/torch_versions"
H100, MI300 = "h100_bert_small", "mi300_bert_small"
TRITON = "torch_compile_triton"
DDP, STACKS = "cpu_ddp4_gloo", "cpu_resnet_full"

TRACES = {
    # SGLang
    "sglang/1795226204.9986026-TP-0-DECODE.trace.json.gz": (DDP, "rank0"),
    "sglang/1795226204.9986026-TP-1-DECODE.trace.json.gz": (DDP, "rank1"),
    "sglang/1795226204.9986026-TP-0-EXTEND.trace.json.gz": (DDP, "rank2"),
    "sglang/1795226204.9986026-TP-1-EXTEND.trace.json.gz": (DDP, "rank3"),
    "sglang/server_args.json": None,
    # vLLM, with its own name and those of TraceLens' captures
    "vllm/dp0_pp0_tp0_dcp0_ep0_rank0.1795226204998602646.pt.trace.json.gz": (TRITON, ""),
    "vllm/capture_traces/bs_8_rank0.json.gz": (VERSIONS, "2.1.2"),
    "vllm/capture_traces/bs_8_rank1.json.gz": (VERSIONS, "2.3.1"),
    "vllm/capture_traces/execution_details.json": None,
    # TraceLens
    "tracelens/gaunernst_bert-small-uncased__1016001.json.gz": (H100, ""),
    "tracelens/gaunernst_bert-small-uncased__1016002.json.gz": (MI300, ""),
    # HTA
    "hta/rank-0.json.gz": (VERSIONS, "2.4.1"),
    "hta/rank-1.json.gz": (VERSIONS, "2.6.0"),
    # torchtitan
    "outputs/profile_traces/iteration_10/rank0_trace.json": (VERSIONS, "2.8.0"),
    "outputs/profile_traces/iteration_20/rank0_trace.json": (VERSIONS, "2.10.0"),
    # Megatron
    "megatron/torch_profile/rank-0.json.gz": (VERSIONS, "2.14.1"),
    # Hugging Face accelerate, and a folder of its models
    "hf/profile_0.json": (VERSIONS, "1.13.1"),
    "hf/config.json": None,
    "hf/tokenizer.json": None,
    # Lightning, and TensorBoard's handler
    "lightning/fit-trace.pt.trace.json": (VERSIONS, "2.0.1"),
    "tensorboard/host_17.1795226132075806134.pt.trace.json.gz": (STACKS, ""),
    # export_chrome_trace("trace.json")
    "mine/trace.json": (VERSIONS, "1.8.1"),
    "trace.json.gz": (VERSIONS, "1.11.0"),
}


@pytest.fixture(scope="module")
def logdir(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real") / "logs"
    for name, source in TRACES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if source is None:
            file.write_text('{"model_type": "llama", "layers": [1, 2, 3]}')
            continue
        above, part = source
        root = samples.parent / "tests" / above if above == VERSIONS else samples / above
        wanted = root / part if above == VERSIONS else root
        stored = min(file for file in wanted.iterdir() if above == VERSIONS or part in file.name)
        shutil.copy(stored, file)  # maybe packed under a plain name: the content decides
    return folder


def test_every_trace_is_discovered_and_nothing_else(logdir: Path) -> None:
    found = looked_into(open_location(str(logdir)))
    assert {file.path for file in found.files} == {name for name in TRACES if TRACES[name]}
    assert found.skipped.counts == {"not_a_trace": 4}
    assert len(found.files) == 19
    by_name = discover(open_location(str(logdir)))
    assert len(by_name.files) == 3


def test_only_ranks_of_one_job_share_a_run(logdir: Path) -> None:
    found = looked_into(open_location(str(logdir))).files
    runs: dict[str, list[str]] = {}
    for file in found:
        runs.setdefault(file.run, []).append(file.worker)
    assert runs == {
        "hf/profile_0": ["profile_0"],
        "hta": ["rank-0", "rank-1"],
        "lightning": ["fit-trace"],
        "logs": ["trace"],
        "megatron/torch_profile": ["rank-0"],
        "mine": ["trace"],
        "outputs/profile_traces/iteration_10": ["rank0"],
        "outputs/profile_traces/iteration_20": ["rank0"],
        "sglang/1795226204.9986026": ["TP-0-DECODE", "TP-0-EXTEND", "TP-1-DECODE", "TP-1-EXTEND"],
        "tensorboard": ["host_17"],
        "tracelens/gaunernst_bert-small-uncased__1016001": [
            "gaunernst_bert-small-uncased__1016001"
        ],
        "tracelens/gaunernst_bert-small-uncased__1016002": [
            "gaunernst_bert-small-uncased__1016002"
        ],
        "vllm": ["dp0_pp0_tp0_dcp0_ep0_rank0"],
        "vllm/capture_traces/bs_8": ["rank0", "rank1"],
    }


def test_all_files_of_the_corpus_are_classified(corpus: Path) -> None:
    """Beside a developer's checkout: no recording is taken for something else."""
    found = looked_into(open_location(str(corpus)))
    left_out = {one.name for one in found.skipped.listed if one.reason == "not_a_trace"}
    assert not [name for name in left_out if "trace.json" in name or "timeline_display" in name]
    told = {one.name.rpartition("/")[2]: one.reason for one in found.skipped.listed}
    assert told["fsdp2_et_rank0.json.gz"] == "companion"
    assert told["mem.json.gz"] == told["mem.raw.json.gz"] == "memory_timeline"
