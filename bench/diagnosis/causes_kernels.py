"""Causes in kernels that another layout or implementation would not need."""

from __future__ import annotations

from random import Random

from bench.diagnosis.editing import Editor, places
from bench.diagnosis.model import Recording
from bench.diagnosis.writer import Writer

CONVERSIONS = (
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, 2>(int)",
    "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false, 0>(int)",
)
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>(int)"
SCALE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float, "
    "float, at::native::binary_internal::MulFunctor<float> > >(int)"
)
BATCHED = "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn"
FUSED = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)"


def layout_conversions(recording: Recording, random: Random, amount: float) -> None:
    """Convolutions convert their inputs and results between two layouts."""
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        chosen = sorted(random.sample(step, min(12, len(step))))
        us = amount / len(chosen) / 2

        def write(writer: Writer, us: float = us) -> None:
            with writer.span("aten::cudnn_convolution", us=16.0):
                for name in CONVERSIONS:
                    writer.kernel(name, us)

        for place in chosen:
            editor.insert(place, write)
    editor.finish()


def eager_attention(recording: Recording, random: Random, amount: float) -> None:
    """Attention is computed kernel by kernel."""
    _attention(recording, random, amount, is_fused=False)


def fused_attention(recording: Recording, random: Random, amount: float) -> None:
    """The same attention in one kernel."""
    _attention(recording, random, amount, is_fused=True)


def _attention(recording: Recording, random: Random, amount: float, *, is_fused: bool) -> None:
    [rank] = recording
    editor = Editor(rank)
    product_share, kept_share = random.uniform(0.2, 0.4), random.uniform(0.1, 0.4)
    for step in places(rank):
        chosen = sorted(random.sample(step, min(12, len(step))))
        us = amount / len(chosen)
        product_us, between_us = us * product_share / 2, us * (1 - product_share) / 2

        def write(writer: Writer, product: float = product_us, part: float = between_us) -> None:
            if is_fused:
                with writer.span("aten::_scaled_dot_product_efficient_attention", us=20.0):
                    writer.kernel(FUSED, 2 * product + 2 * part * kept_share)
                return
            for operator, kernel, kernel_us in (
                ("aten::bmm", BATCHED, product),
                ("aten::mul", SCALE, part),
                ("aten::_softmax", SOFTMAX, part),
                ("aten::bmm", BATCHED, product),
            ):
                with writer.span(operator, us=10.0):
                    writer.kernel(kernel, kernel_us)

        for place in chosen:
            editor.insert(place, write)
    editor.finish()
