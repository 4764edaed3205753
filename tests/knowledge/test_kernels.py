"""Every kernel rule against its own examples, and the rules together against real names.

Covered: each example and counter-example of the file; the predecessor's tensor-core fragments;
every device name of the corpus; names of modern libraries (``tests/data/kernel_names.toml``);
unknown names.
"""

from __future__ import annotations

import gzip
import re
import time
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from torch_tb_profiler.knowledge import kernels
from torch_tb_profiler.knowledge.many_names import MANY_NAMES

RULES = kernels.kernel_file().rules
PREDECESSOR_FRAGMENTS = [
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_takes_its_examples_and_leaves_its_counter_examples(
    rule: kernels.KernelRule,
) -> None:
    assert rule.examples
    for name in rule.examples:
        kind = kernels.classify(name)
        assert (kind.rule, kind.kind, kind.tensor_core, kind.communication) == (
            rule.name,
            rule.kind,
            rule.tensor_core,
            rule.communication,
        ), name
    for name in rule.counter_examples:
        assert kernels.classify(name).rule != rule.name, name


def test_rule_names_are_unique_and_kinds_are_declared() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert {rule.kind for rule in RULES} <= set(kernels.kernel_file().kinds)


@pytest.mark.parametrize("fragment", PREDECESSOR_FRAGMENTS)
def test_the_predecessors_tensor_core_fragments_still_count(fragment: str) -> None:
    assert kernels.classify(f"volta_fp16_{fragment}_128x128_kernel").tensor_core is True


def test_an_unknown_name_is_unknown_not_no() -> None:
    assert kernels.classify("my_kernel") == kernels.UNKNOWN_KERNEL
    assert kernels.classify("") == kernels.UNKNOWN_KERNEL


def test_a_hostile_name_is_classified_quickly() -> None:
    assert kernels.classify("multi_tensor_apply " + "Adam(" * 20_000).rule == "foreach"


class _Event(msgspec.Struct):
    """The keys of an event that decide; what else it has is not decoded."""

    name: Any = None
    cat: Any = None


class _Document(msgspec.Struct):
    traceEvents: list[_Event] = []  # noqa: N815 - the name of the key


def _events(text: bytes) -> list[_Event]:
    """The events of a file; none where it is no JSON."""
    try:
        return msgspec.json.decode(text, type=_Document).traceEvents
    except (msgspec.MsgspecError, UnicodeError):
        return []


@cache
def _device_names(folder: Path) -> set[str]:
    names: set[str] = set()
    for path in sorted(folder.rglob("*.json.gz")):
        if "fixtures" in path.parts:
            continue
        for event in _events(gzip.decompress(path.read_bytes())):
            if re.fullmatch("kernel|(gpu_)?mem(cpy|set)", str(event.cat).lower()):
                names.add(event.name)
    return names


UNNAMED_WORK = re.compile(r"triton__(\d+[a-z]*)+$")
"""Names of the corpus that do not say what they do: Inductor of torch 2.0 names a kernel by its
signature alone."""


def test_every_device_name_of_the_corpus_is_known(corpus: Path) -> None:
    names = {name for name in _device_names(corpus) if not UNNAMED_WORK.match(name)}
    assert len(names) > 150
    assert {name for name in names if kernels.classify(name).rule is None} == set()


def test_the_v100_samples_use_no_tensor_core(corpus: Path) -> None:
    """The predecessor's number on its own sample: tensor-core share 0 in both spans."""
    names = _device_names(corpus / "kineto_resnet50_nw0")
    assert {kernels.classify(name).tensor_core for name in names} == {False}


def test_which_corpus_kernels_run_on_tensor_cores(corpus: Path) -> None:
    """Read by eye from the names of all corpus traces."""
    used = {
        (kernels.classify(name).rule, kernels.classify(name).kind)
        for name in _device_names(corpus)
        if kernels.classify(name).tensor_core
    }
    assert used == {
        ("cublas-tensor-core", "gemm"),
        ("cutlass-tensorop", "gemm"),
        ("flash-attention-cuda", "attention"),
        ("hipblaslt-tensile-matrix", "gemm"),
        ("rocm-attention", "attention"),
    }


def test_all_at_once_says_the_same_as_one_by_one() -> None:
    examples = [name for rule in RULES for name in (*rule.examples, *rule.counter_examples)]
    names = [
        *examples,
        *(f"{first}{second}" for first, second in zip(examples, examples[7:], strict=False)),
        "",
        "no kernel of ours",
        "causal_conv1d_fwd",
        "_conv1d_fwd",
        "rotary_embedding_kernel",
        "void \u4e2d\u6587_kernel<\u00e9>",
    ]
    names += [f"kernel_{number}" for number in range(MANY_NAMES)]

    assert kernels.classify_all(names) == [kernels.classify(name) for name in names]
    assert kernels.classify_all([]) == []


HANG_S = 60.0
"""A rule that searches a name again and again takes hours; a busy machine not so long."""


@pytest.mark.parametrize("part", ["a", "aA", "a<", "nvjet", "miopen", "cutlass", "_", "(", "at::"])
def test_names_of_any_length_never_hang(part: str) -> None:
    name = part * 100_000
    start_s = time.perf_counter()

    kernels.classify(name)
    kernels.classify_all([name] * MANY_NAMES)

    assert time.perf_counter() - start_s < HANG_S


NAMES = Path(__file__).parents[1] / "data" / "kernel_names.toml"
KNOWN = [
    (name, group)
    for group in msgspec.toml.decode(NAMES.read_bytes())["kernels"]
    for name in group["names"]
]


@pytest.mark.parametrize(("name", "group"), KNOWN, ids=[name[:60] for name, _ in KNOWN])
def test_names_of_modern_libraries_are_what_they_do(name: str, group: dict[str, object]) -> None:
    kind = kernels.classify(name)

    assert (kind.kind, kind.tensor_core) == (group["kind"], group["tensor-core"]), kind.rule
    assert kind.communication == (group["kind"] == "communication")
    assert kernels.classify_all([name]) == [kind]
