"""Every operator rule against its own examples, and the predecessor's whole list."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import operators

RULES = operators.operator_file().rules
PREDECESSOR_ATEN = [
    "_convolution",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "cudnn_convolution",
    "cudnn_convolution_transpose",
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "mm",
    "mv",
    "linear",
    "addbmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "cudnn_convolution_transpose_backward",
    "cudnn_convolution_backward_weight",
    "addmm_",
    "cudnn_convolution_transpose_backward_weight",
    "cudnn_convolution_transpose_backward_input",
    "cudnn_convolution_backward_input",
    "cudnn_convolution_backward",
]
PREDECESSOR_BACKWARD = [
    "CudnnConvolutionBackward",
    "BmmBackward0",
    "CudnnConvolutionTransposeBackward",
    "MmBackward",
    "AddmvBackward",
    "MvBackward",
    "AddmmBackward",
    "AddbmmBackward",
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_takes_its_examples_and_leaves_its_counter_examples(
    rule: operators.OperatorRule,
) -> None:
    assert rule.examples
    for name in rule.examples:
        match = operators.matching_rule(name)
        assert match is not None, name
        assert match.name == rule.name, name
        assert operators.tensor_core_eligible(name) is rule.tensor_core_eligible
    for name in rule.counter_examples:
        match = operators.matching_rule(name)
        assert match is None or match.name != rule.name, name


@pytest.mark.parametrize("name", PREDECESSOR_BACKWARD + [f"aten::{n}" for n in PREDECESSOR_ATEN])
def test_the_predecessors_list_still_counts(name: str) -> None:
    assert operators.tensor_core_eligible(name) is True


@pytest.mark.parametrize(
    "name",
    [
        "",
        "triton_poi_fused_add_0",
        "Torch-Compiled Region: 0/0",
        "mylib::custom_op",
        "MyFnBackward",
    ],
)
def test_custom_and_compiled_operators_are_unknown(name: str) -> None:
    assert operators.tensor_core_eligible(name) is None
