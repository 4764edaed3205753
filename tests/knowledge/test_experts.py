"""Cases: every rule takes its examples and none of its counter-examples; kernels that communicate
are no products and the other way round; numbers in names."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import experts, kernels

RULES = experts.expert_file().rules


def first_rule(subject: experts.Subject, name: str) -> str | None:
    matches = (
        rule.name
        for pattern, rule in experts._compiled()[subject]
        if pattern.search(kernels.searched_text(name))
    )
    return next(matches, None)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_takes_its_examples_and_no_other(rule: experts.ExpertRule) -> None:
    assert rule.examples
    for name in rule.examples:
        assert first_rule(rule.on, name) == rule.name, name
    for name in rule.counter_examples:
        assert first_rule(rule.on, name) != rule.name, name


def test_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


EXCHANGES = ("dispatch", "combine", "exchange", "notify")


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.on == "kernel"], ids=lambda r: r.name
)
def test_what_communicates_is_said_by_the_rules_of_kernels(rule: experts.ExpertRule) -> None:
    if rule.stage == "no":
        return
    for name in rule.examples:
        kind = kernels.classify(name)
        if kind.rule is not None:
            assert kind.communication == (rule.stage in EXCHANGES), (name, kind)


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("void vllm::moe::moe_align_block_size_kernel<int>", "permutation"),  # kernels.toml says so
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", None),
        (
            "void cutlass::device_kernel<dpsk::grouped_gemm::cuda::fp8_ptp128c::GemmKernel>",
            "products",
        ),
        (
            "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false>(int)",
            None,
        ),
        ("", None),
    ],
)
def test_stages_of_kernels(name: str, stage: str | None) -> None:
    assert experts.kernel_stage(name) == stage


def test_numbers_in_names() -> None:
    rule = experts.expert_rule("range", "expert 12")
    assert rule is not None
    assert experts.number_in(rule, "expert 12") == 12
    assert experts.tokens_in("moe forward tokens=4096") == 4096
    assert experts.tokens_in("moe") is None
    assert experts.tokens_in("tokens=" + "9" * 40) is None
