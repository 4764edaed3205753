"""What a copy of a recording for others must not hold: each rule against its examples."""

from __future__ import annotations

import re
import time

import pytest

from torch_tb_profiler.knowledge import scrubbing

FILE = scrubbing.scrubbing_file()


@pytest.mark.parametrize("rule", FILE.fields, ids=lambda rule: rule.kind)
def test_keys(rule: scrubbing.FieldRule) -> None:
    assert {scrubbing.field_rule(key) for key in rule.examples} == {rule}
    assert rule not in {scrubbing.field_rule(key) for key in rule.counter_examples}


@pytest.mark.parametrize("rule", FILE.texts, ids=lambda rule: rule.examples[0][:30])
def test_forms_of_texts(rule: scrubbing.TextRule) -> None:
    pattern = re.compile(rule.pattern)
    assert [text for text in rule.examples if not pattern.search(text)] == []
    assert [text for text in rule.counter_examples if pattern.search(text)] == []


@pytest.mark.parametrize("rule", FILE.texts, ids=lambda rule: rule.examples[0][:30])
def test_examples_lose_what_is_private(rule: scrubbing.TextRule) -> None:
    for text in rule.examples:
        assert scrubbing.replace_private(text, lambda _kind, _text: "#") != text


@pytest.mark.parametrize("rule", FILE.learn, ids=lambda rule: rule.examples[0][:30])
def test_names_of_hosts_and_users(rule: scrubbing.LearningRule) -> None:
    pattern = re.compile(rule.pattern.encode())
    for text in map(str.encode, rule.examples):
        names = {match["name"] for match in pattern.finditer(text)}
        assert names, text
        assert {(rule.kind, name) for name in names} <= scrubbing.given_names(text)
    assert [text for text in rule.counter_examples if pattern.search(text.encode())] == []


def test_names_of_processes() -> None:
    assert all(map(scrubbing.is_plain_process, FILE.processes.examples))
    assert not any(map(scrubbing.is_plain_process, FILE.processes.counter_examples))


def test_segments_of_file_names() -> None:
    assert [name for name in FILE.names.examples if scrubbing.private_segments(name)] == []
    assert all(map(scrubbing.private_segments, FILE.names.counter_examples))
    assert scrubbing.private_segments("acme_v2-rank3.gpu17_4711") == ["acme_v2", "gpu17_4711"]


@pytest.mark.parametrize(("path", "rest"), FILE.paths.examples)
def test_paths(path: str, rest: str) -> None:
    shortened = scrubbing.path_rest(path)
    if shortened is None:
        base_name = re.split(r"[\\/]", path)[-1]
        shortened = base_name if scrubbing.is_source_file(base_name) else "path-1"
    assert shortened == rest


def test_every_kind_has_a_title() -> None:
    kinds = {rule.kind for rule in FILE.fields} | {rule.kind for rule in FILE.learn}
    kinds |= {rule.kind for rule in FILE.texts}
    assert kinds | {scrubbing.NAME, scrubbing.SHAPE, scrubbing.BYTES} == FILE.kinds.keys()


@pytest.mark.parametrize(
    "key", ["num_tokens", "Input Dims", "External id", "Process Group Name", "correlation", "name"]
)
def test_keys_of_recordings_have_no_rule(key: str) -> None:
    assert scrubbing.field_rule(key) is None


@pytest.mark.parametrize(
    "name",
    [
        "aten::_scaled_dot_product_flash_attention",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, A)",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_T1_",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas",
        "torch/nn/modules/linear.py(125): forward",
        "<built-in method linear of type object at 0x7f1bac201800>",
        "nn.Module: TransformerEncoderLayer_0",
        "ProfilerStep#12",
        "Optimizer.step#Adam.step",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "Memcpy HtoD (Pageable -> Device)",
        "XBLOCK=2,R0_BLOCK=2048",
        "[[32, 64], [128, 64]]",
        "2.21.5",
        "thread 17909:MainThread(C++)",
        "Default/network-TrainStepWrap/optimizer_d-Adam/Mul-op29",
        "ProfilerStep* dev/tmp",
        "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1",
        "self.model.0.net",
        "## forward ## 3/4",
    ],
)
def test_what_recordings_hold_stays(name: str) -> None:
    assert scrubbing.replace_private(name, lambda kind, text: f"<{kind}: {text}>") == name


@pytest.mark.parametrize(
    "part",
    [
        *(
            "a.",
            "a@",
            "python ",
            "'/a",
            "/a,",
            "-----BEGIN PRIVATE KEY-----",
            "eyJa.",
            "%2fa",
            "a-",
        ),
        *("--user ", "user=", "host:", "-u a", "cookie=", "'a':'", "GPU-", "0a", "A@", "C:\\a b"),
    ],
)
def test_a_hostile_text_takes_no_long_time(part: str) -> None:
    text = part * (100_000 // len(part))
    start_s = time.process_time()
    scrubbing.replace_private(text, lambda kind, _text: kind)
    assert time.process_time() - start_s < 10
