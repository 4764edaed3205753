"""Cases: passes and tokens of a job with NCCL; the published form of DeepEP, with hidden and
exposed times known by construction; random transfers against a count of every nanosecond; an
all_to_all of other dimensions; many passes; ranges name layers; recordings without experts."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.moe import (
    ATTENTION,
    DEEP_GEMM,
    EP,
    GROUPED,
    MoeWriter,
    deep_ep_chunk,
    expert_parallel,
)
from tests.helpers.traces import Event, annotation, call, frame, kernel, op, step, trace
from torch_tb_profiler.analysis.experts.facts import expert_kernel_facts, expert_pass_facts
from torch_tb_profiler.knowledge.experts import expert_file

US = 1000


def test_passes_of_a_job_with_nccl() -> None:
    facts = expert_pass_facts(expert_parallel(0, [10, 40]))
    assert facts["step"].to_list() == [0, 0, 1, 1]
    assert facts["number"].to_list() == [1, 2, 1, 2]
    assert facts["tokens"].to_list() == [10, 40, 10, 40]
    assert facts["token_source"].unique().to_list() == ["shapes of products"]
    assert facts["product_ns"].to_list() == [10 * US, 40 * US] * 2
    for side in ("dispatch", "combine"):
        assert facts[f"{side}_ns"].to_list() == [10 * US] * 4
        assert facts[f"{side}_exposed_ns"].to_list() == [10 * US] * 4


def test_stages_of_the_same() -> None:
    rows = expert_kernel_facts(expert_parallel(0, [10, 40]))
    stages = rows.group_by("stage").agg(pl.col("calls").sum())
    assert dict(stages.iter_rows()) == {"dispatch": 4, "combine": 4, "expert GEMMs": 8}


def test_tokens_without_shapes_are_unknown() -> None:
    facts = expert_pass_facts(expert_parallel(0, [10, 40], shapes=False))
    assert facts["tokens"].null_count() == 4
    assert facts["number"].to_list() == [1, 2, 1, 2]


def test_the_published_form_of_a_training_chunk() -> None:
    recorded, transfer_us, exposed_us = deep_ep_chunk()
    facts = expert_pass_facts(recorded)
    all_ns = int((facts["dispatch_ns"] + facts["combine_ns"]).sum())
    exposed_ns = int((facts["dispatch_exposed_ns"] + facts["combine_exposed_ns"]).sum())
    assert (all_ns, exposed_ns) == (transfer_us * US, exposed_us * US)
    by_stage = {
        (row["stage"], "notify" in row["kernel"]): row["calls"]
        for row in expert_kernel_facts(recorded)
        .group_by("stage", "kernel")
        .agg(pl.col("calls").sum())
        .iter_rows(named=True)
        if "dispatch" in row["stage"] or "combine" in row["stage"]
    }
    # Counts that are sent ahead belong to what follows them: of four layers 8 each.
    assert by_stage[("combine", True)] == 8
    assert by_stage[("combine", False)] == 8
    kernels = expert_kernel_facts(recorded)
    assert set(kernels["stage"]) == {"dispatch", "combine", "permutation", "expert GEMMs"}


@pytest.mark.parametrize("seed", range(20))
def test_hidden_and_exposed_against_every_nanosecond(seed: int) -> None:
    random = Random(seed)
    events, length = [], 400
    computes, moves = np.zeros(length, bool), np.zeros(length, bool)
    for _ in range(random.randint(1, 12)):
        start, dur = random.randrange(length - 60), random.randint(1, 50)
        kind = random.choice(("dispatch", "combine", "product", "attention"))
        stream = random.choice((27, 28)) if kind in ("dispatch", "combine") else 7
        name = {"product": DEEP_GEMM, "attention": ATTENTION}.get(kind, f"void {EP}{kind}<8>(int)")
        events.append(kernel(name, start / US, dur / US, stream=stream))
        (moves if stream != 7 else computes)[start : start + dur] = True
    events.append(kernel(f"void {EP}dispatch<8>(int)", 0, 10 / US, stream=27))
    moves[:10] = True
    facts = expert_pass_facts(trace(events))
    both = int((facts["dispatch_ns"] + facts["combine_ns"]).sum())
    exposed = int((facts["dispatch_exposed_ns"] + facts["combine_exposed_ns"]).sum())
    assert (both, exposed) == (int(moves.sum()), int((moves & ~computes).sum()))


@pytest.mark.parametrize("group", ["mesh_cp", "ulysses_pg"])
def test_an_all_to_all_of_a_sequence_is_no_dispatch(group: str) -> None:
    """Ulysses, with layers of experts on every rank."""
    facts = expert_pass_facts(expert_parallel(0, [10, 40], group=group))
    assert facts["dispatch_ns"].sum() == facts["combine_ns"].sum() == 0
    assert facts["product_ns"].sum() > 0


def test_an_all_to_all_of_an_unknown_group_is_undecided() -> None:
    kernels = expert_kernel_facts(expert_parallel(0, [10, 40], group="default_pg"))
    undecided = kernels.filter(kernels["stage"] == "all_to_all of an unknown group")
    assert undecided["calls"].sum() == 8
    assert undecided["group_key"].unique().to_list() == ["3|[0,1]"]


def test_an_all_to_all_alone_is_nothing_about_experts() -> None:
    writer = MoeWriter("default_pg")
    writer.all_to_all(0, 10, 5, 4)
    writer.attention(20, 30, 5)
    assert expert_kernel_facts(trace(writer.events)).is_empty()
    assert expert_pass_facts(trace(writer.events)).is_empty()


def test_a_range_makes_an_exchange_certain_and_names_the_layer() -> None:
    writer = MoeWriter(None)
    for layer in (0, 1):
        t = 100 * layer
        writer.events.append(annotation(f"moe_layer_{layer}", t, 50))
        writer.all_to_all(t + 5, t + 10, 5, 7)
        writer.product(t + 10, t + 20, 4, 9)
        writer.launched("void vllm::act_and_mul_kernel<float>(int)", t + 14, t + 24, 2)
        writer.all_to_all(t + 20, t + 30, 5, 7)
    facts = expert_pass_facts(trace(writer.events))
    assert facts["layer"].to_list() == ["moe_layer_0", "moe_layer_1"]
    assert facts["tokens"].to_list() == [9, 9]
    assert facts["dispatch_ns"].to_list() == facts["combine_ns"].to_list() == [5 * US] * 2
    assert facts["other_ns"].to_list() == [2 * US] * 2


def test_a_module_names_the_layer_and_backward_has_its_direction() -> None:
    events = [
        frame("nn.Module: Transformer_0", 0, 100, python_id=1, module=1),
        frame("nn.Module: MoELayer_0", 10, 40, python_id=2, parent=1, module=2),
        op("aten::_grouped_mm", 20, 5, shape=[[6, 8], [2, 8, 8], [2]]),
        call("cudaLaunchKernel", 21, 1, corr=1),
        kernel(GROUPED, 30, 3, corr=1),
        step(1, 0, 200),
    ]
    facts = expert_pass_facts(trace(events))
    assert facts["layer"].to_list() == ["Transformer_0/MoELayer_0"]
    assert facts["tokens"].to_list() == [6]
    assert facts["direction"].to_list() == ["forward"]


def test_microbatches_that_overlap_are_assigned_in_order() -> None:
    """Two microbatches take turns: while one computes, the other is sent (device times alone)."""
    events = []
    for number in range(6):
        t = 100 * number
        events += [
            kernel(f"void {EP}dispatch<8>(int)", t, 40, stream=27),
            kernel(ATTENTION, t, 40, stream=7),
            kernel(DEEP_GEMM, t + 40, 30, stream=7),
            kernel(DEEP_GEMM, t + 70, 30, stream=7),
            kernel(f"void {EP}combine<8>(int)", t + 60, 40, stream=27),
        ]
    facts = expert_pass_facts(trace(events))
    assert facts["number"].to_list() == [1, 2, 3, 4, 5, 6]
    assert facts["product_ns"].to_list() == [60 * US] * 6
    assert facts["dispatch_ns"].to_list() == facts["combine_ns"].to_list() == [40 * US] * 6


def test_gathered_dispatches_count_in_a_group_of_experts_alone() -> None:
    def stages(group: str) -> list[str]:
        events: list[Event] = []
        for name, at in (("all_gather", 0), ("reduce_scatter", 30)):
            meta: dict[str, Any] = {
                "Collective name": name,
                "In msg nelems": 8,
                "Process Group Name": "2",
                "Process Group Description": group,
            }
            events.append(kernel(f"ncclDevKernel_{name}", at, 5, stream=9, **meta))
        events.append(kernel(DEEP_GEMM, 10, 10))
        return sorted(set(expert_kernel_facts(trace(events))["stage"]))

    assert stages("ep") == ["combine", "dispatch", "expert GEMMs"]
    assert stages("dp") == ["expert GEMMs"]


def test_the_form_of_vllm_without_expert_parallelism() -> None:
    """Gating, sorting, two fused products and the sum of each layer, in one operator."""
    writer = MoeWriter(None)
    experts = [[6, 64], [8, 256, 64], [8, 64, 128], [6, 2], [6, 2]]
    for layer in (0, 1):
        t = 100 * layer
        writer.attention(t, t + 1, 5)
        writer.launched("void vllm::moe::topkGatingSoftmax<8>", t + 5, t + 10, 3)
        writer.events.append(op("vllm::inplace_fused_experts", t + 10, 30, shape=experts))
        for name, host, dur in (
            ("void vllm::moe::moe_align_block_size_kernel<int>", 12, 2),
            ("fused_moe_kernel", 15, 8),
            ("void vllm::act_and_mul_kernel<float>(int)", 18, 1),
            ("fused_moe_kernel", 21, 7),
            ("void vllm::moe::moe_sum_kernel<c10::BFloat16, 4>", 24, 2),
        ):
            writer.launched(name, t + host, t + 10 + host * 2, dur)
    facts = expert_pass_facts(trace(writer.events))
    assert facts["number"].to_list() == [1, 2]
    assert facts["tokens"].to_list() == [12, 12], "each token meets two experts"
    assert facts["product_ns"].to_list() == [15 * US] * 2
    assert facts["routing_ns"].to_list() == [7 * US] * 2
    assert facts["dispatch_ns"].to_list() == [0, 0]


def test_decoding_in_a_graph_is_divided_by_time() -> None:
    """All kernels of a graph have one launch; low-latency transfers send and wait on one stream."""
    gemm = "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 8u, (deep_gemm::GemmType)2>"
    events: list[Event] = [call("cudaGraphLaunch", 0, 2, corr=1)]
    for number in range(4):
        t = 10 + 100 * number
        plan = (
            (f"void {EP}dispatch_ll<true, 3, 10, 7168>(int)", 0, 5),
            (ATTENTION, 5, 30),
            (f"void {EP}dispatch_ll<true, 3, 10, 7168>(int)", 35, 10),
            (gemm, 45, 20),
            (gemm, 65, 10),
            (f"void {EP}combine_ll<10, 7168>(int)", 75, 8),
            ("void dpsk::rms_norm_kernel<float>(int)", 84, 5),
        )
        events += [kernel(name, t + start, dur, corr=1) for name, start, dur in plan]
    facts = expert_pass_facts(trace(events))
    assert facts["number"].to_list() == [1, 2, 3, 4]
    assert facts["product_ns"].to_list() == [30 * US] * 4
    assert facts["dispatch_ns"].to_list() == [15 * US] * 4
    assert facts["combine_exposed_ns"].to_list() == [8 * US] * 4


def test_products_on_the_host_are_of_experts_where_no_device_is() -> None:
    events = [step(1, 0, 100), op("aten::_grouped_mm", 10, 20, shape=[[5, 8], [2, 8, 8], [2]])]
    facts = expert_pass_facts(trace(events))
    assert facts["tokens"].to_list() == [5]
    assert facts["product_ns"].to_list() == [20 * US]


def test_passes_beyond_the_most_are_joined() -> None:
    most = expert_file().max_passes
    events = []
    for number in range(most + 3):
        events += [
            kernel(ATTENTION, 10 * number, 2),
            kernel(DEEP_GEMM, 10 * number + 2, 3),
        ]
    facts = expert_pass_facts(trace(events))
    assert facts.height == most
    assert facts["product_ns"].sum() == (most + 3) * 3 * US
    assert facts["product_ns"].to_list()[-1] == 4 * 3 * US


def test_a_recording_without_experts_has_no_rows() -> None:
    events = [
        op("aten::mm", 0, 10),
        call("cudaLaunchKernel", 1, 1, corr=1),
        kernel("gemm", 5, 5, corr=1),
    ]
    assert expert_pass_facts(trace(events)).is_empty()
    assert expert_kernel_facts(trace(events)).is_empty()


@pytest.mark.parametrize("shape", ["[[", "[[-1, 2], [1, 2, 3]]", '[["x"], [1, 2, 3]]', "7"])
def test_odd_shapes_say_nothing(shape: str) -> None:
    odd: dict[str, Any] = {"Input Dims": shape}
    events = [op("aten::_grouped_mm", 10, 20, **odd)]
    assert expert_pass_facts(trace(events))["tokens"].to_list() == [None]
