"""Hand-built recordings of layers of experts, in the forms that programs write.

:func:`expert_parallel` is a job of torch with NCCL (grouped products, ``all_to_all`` with metadata,
input shapes); :func:`deep_ep_chunk` has the kernels that DeepSeek published of a training chunk: no
steps, no shapes, transfers on a stream of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from torch_tb_profiler.trace.model import Trace

ATTENTION = "void cutlass::device_kernel<flash::FlashAttnFwdSm90<int>>"
GROUPED = (
    "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::kernel"
    "::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>>>>"
)
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
HIDDEN = 64
"""Columns of the tokens."""

LAYER_US = 200


def _members_text(members: int) -> str:
    """The ranks of a group, of which torch writes 30."""
    shown = ", ".join(map(str, range(min(members, 30))))
    return f"[{shown}{', ...' if members > 30 else ''}]"


class MoeWriter:
    """Writes the events of one rank; every kernel is launched from its operator."""

    def __init__(
        self, group: str | None = "mesh_ep", members: int = 2, *, shapes: bool = True
    ) -> None:
        self.events: list[Event] = []
        self._correlation = 0
        self._group = group
        self._members = members
        self._shapes = shapes

    def launched(
        self, name: str, host_us: float, start_us: float, dur_us: float, *, stream: int = 7
    ) -> None:
        """A kernel and its launch."""
        self._correlation += 1
        corr = self._correlation
        self.events += [
            call("cudaLaunchKernel", host_us, 0.5, corr=corr),
            kernel(name, start_us, dur_us, corr=corr, stream=stream),
        ]

    def attention(self, host_us: float, start_us: float, dur_us: float) -> None:
        """Attention, which lies between layers of experts."""
        self.events.append(op("aten::scaled_dot_product_attention", host_us, 2))
        self.launched(ATTENTION, host_us + 1, start_us, dur_us)

    def product(self, host_us: float, start_us: float, dur_us: float, rows: int) -> None:
        """A grouped product of so many rows."""
        shape = [[rows, HIDDEN], [4, HIDDEN, 128], [4]] if self._shapes else None
        self.events.append(op("aten::_grouped_mm", host_us, 2, shape=shape))
        self.launched(GROUPED, host_us + 1, start_us, dur_us)

    def all_to_all(
        self,
        host_us: float,
        start_us: float,
        dur_us: float,
        rows: int,
        splits: Sequence[int] | str = (),
    ) -> None:
        """An all_to_all that receives so many rows; ``splits`` of what it sends."""
        meta: dict[str, Any] = {
            "Collective name": "all_to_allv",
            "dtype": "BFloat16",
            "In msg nelems": rows * HIDDEN,
            "Out msg nelems": rows * HIDDEN,
            "Group size": self._members,
            "In split size": splits if isinstance(splits, str) else str(list(splits)),
        }
        if self._group is not None:
            meta |= {
                "Process Group Name": "3",
                "Process Group Description": self._group,
                "Process Group Ranks": _members_text(self._members),
            }
        shape = [[rows, HIDDEN]] if self._shapes else None
        self._correlation += 1
        corr = self._correlation
        self.events += [
            op("record_param_comms", host_us, 2, shape=shape, **meta),
            annotation("nccl:all_to_all", host_us + 0.5, 1),
            call("cudaLaunchKernel", host_us + 0.7, 0.5, corr=corr),
            kernel(SEND_RECV, start_us, dur_us, corr=corr, stream=27, **meta),
        ]


def expert_parallel(
    rank: int,
    tokens: Sequence[int],
    *,
    steps: int = 2,
    group: str | None = "mesh_ep",
    shapes: bool = True,
    us_per_token: float = 0.5,
    world: int = 2,
    splits: Sequence[int] | str = (),
) -> Trace:
    """A rank with one layer per entry of ``tokens``: two products of half ``us_per_token`` each per
    token, between a dispatch and a combine of 10 µs that nothing overlaps."""
    writer = MoeWriter(group, world, shapes=shapes)
    for number in range(steps):
        begin = number * len(tokens) * LAYER_US
        for layer, rows in enumerate(tokens):
            t = begin + layer * LAYER_US
            half = rows * us_per_token
            writer.attention(t, t + 10, 20)
            writer.all_to_all(t + 5, t + 30, 10, rows, splits)
            writer.product(t + 10, t + 40, half, rows)
            writer.product(t + 14, t + 40 + half, half, rows)
            writer.all_to_all(t + 20, t + 40 + 2 * half, 10, rows)
        writer.events.append(step(number + 1, begin, len(tokens) * LAYER_US))
    header = {"backend": "nccl", "rank": rank, "world_size": world}
    return trace(writer.events, distributedInfo=header)


EP = "dpsk::ep::internode::"
CHUNK = (
    ("void cuda::per_token_cast_to_fp8_with_channels<__nv_bfloat16, 128>(int)", 52),
    (f"void {EP}cached_notify<false>(int)", 1008),
    (f"void {EP}dispatch<false, 8, true, 8>(int4*, float*)", 3320),
    ("void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*)", 74),
    (f"void {EP}notify_dispatch<false, 8>(int const*)", 1381),
    (f"void {EP}dispatch<false, 8, false, 8>(int4*, float*)", 4604),
    (f"void {EP}cached_notify<false>(int)", 753),
    (f"void {EP}combine<false, 8, __nv_bfloat16, 8>(int4*)", 6549),
    (f"void {EP}cached_notify<false>(int)", 1323),
    (f"void {EP}combine<false, 8, __nv_bfloat16, 8>(int4*)", 6002),
)
"""What runs on the stream of transfers for one layer, forward and backward, with its duration in µs
(published figures of the first layer of DeepSeek's training profile)."""
DEEP_GEMM = (
    "void cutlass::device_kernel<dpsk::grouped_gemm::cuda::fp8_ptp128c::GemmKernel>"
    "(dpsk::grouped_gemm::cuda::fp8_ptp128c::GemmKernel::Params)"
)


def deep_ep_chunk(layers: int = 4, idle_us: int = 500) -> tuple[Trace, int, int]:
    """A chunk of training with DeepEP: on one stream the transfers, on another computation, which
    pauses ``idle_us`` in the middle of each layer's first combine.

    Returns:
        The trace, the time of all transfers and its exposed part, in µs.
    """
    events: list[Event] = []
    t, transfer_us, exposed_us = 1000, 0, 0
    for _ in range(layers):
        begin = t
        for name, dur in CHUNK:
            events.append(kernel(name, t, dur, stream=27))
            transfer_us += dur if EP in name else 0
            t += dur
        combine_at = begin + sum(dur for _, dur in CHUNK[:7])
        pause = combine_at + 2000
        events += [
            kernel(ATTENTION, begin - 10, 3000, stream=7),
            kernel(DEEP_GEMM, begin + 2990, pause - begin - 2990, stream=7),
            kernel(DEEP_GEMM, pause + idle_us, t - pause - idle_us - 100, stream=7),
            kernel("void dpsk::layer_norm_kernel<float>(int)", t - 100, 100, stream=7),
        ]
        exposed_us += idle_us
    return trace(events), transfer_us, exposed_us
