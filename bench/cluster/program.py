"""What the ranks of a pipeline stage do in one step, operation after operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.cluster.shape import Shape
from bench.cluster.topology import DATA, EXPERT, MODEL, PIPELINE, TENSOR, WORLD, Topology

BYTES = 2
"""Of an element: bfloat16."""

CHOSEN_EXPERTS = 2
"""Experts that compute each token."""

COMPUTE = "compute"
"""The stream of computation; that of a collective is called as its group."""

GEMM = "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT"
ATTENTION = (
    "void flash::flash_{}_kernel<Flash_{}_kernel_traits<128, 128, 64, 4, false, false, "
    "cutlass::bfloat16_t> >(flash::Flash_{}_params)"
)
NORM = (
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
    "false>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, "
    "float*, c10::BFloat16*)"
)
NORM_BACKWARD = (
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized"
    "<c10::BFloat16, float, false>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, "
    "float const*, c10::BFloat16 const*, c10::BFloat16*, int)"
)
GELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl"
    "(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >"
    "(int, at::native::GeluCUDAKernelImpl, std::array<char*, 2ul>)"
)
GROUPED = (
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::"
    "GroupProblemShape<cute::tuple<int, int, int> >, cutlass::bfloat16_t> >()"
)
EMBEDDING = (
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned "
    "int, 2, 2, -2, true>(long)"
)
SOFTMAX = (
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, "
    "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, "
    "c10::BFloat16 const*, int)"
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4> >(int)"
)


@dataclass(eq=False)
class Op:
    """One operation of the host, with the device work that it launches.

    Attributes:
        kind: ``kernel``, ``collective``, ``send``, ``receive``, ``wait``, ``sync``, ``event``,
            ``input`` or ``pause``.
        name: Of the operator; of a collective what it does; of a pause where it is.
        kernel: Name of the kernel.
        dims: Shapes of the inputs as text; ``TOKENS`` and ``ROUTED`` stand for a number of tokens.
        ns: Duration of the kernel where nothing is slow.
        scale: What the duration and the size follow: ``tokens``, ``routed`` or nothing.
        group: Dimension of the process group.
        size: Bytes of the whole of a collective, or of a transfer.
        blocks: Whether later computation waits for the collective.
        mark: Names the end of the collective for a ``wait``.
        is_backward: Whether autograd's thread does it.
        routing: Which routing of tokens to experts it follows; forward and backward share one.
    """

    kind: str
    name: str
    kernel: str = ""
    dims: str = ""
    ns: float = 0.0
    scale: str = ""
    group: str = ""
    size: float = 0.0
    blocks: bool = True
    mark: str = ""
    is_backward: bool = False
    routing: int = -1


@dataclass
class _Writer:
    """Writes a step of one stage."""

    shape: Shape
    has_tensor: bool
    layers: int
    is_first: bool
    is_last: bool
    ops: list[Op] = field(default_factory=list)
    is_backward: bool = False
    routing: int = -1

    def add(
        self, kind: str, name: str, *, kernel: str = "", dims: str = "", ns: float = 0.0,
        scale: str = "", group: str = "", size: float = 0.0, blocks: bool = True, mark: str = "",
    ) -> None:  # fmt: skip
        """Append an operation."""
        self.ops.append(
            Op(
                kind, name, kernel, dims, ns, scale, group, size, blocks, mark, self.is_backward,
                self.routing,
            )
        )  # fmt: skip

    def product(self, rows: str, inner: int, columns: int, share: float = 1.0) -> None:
        """A matrix product of the tokens with weights, or of its backward."""
        tokens = self.shape.tokens * (CHOSEN_EXPERTS if rows == "routed" else 1)
        ns = 2.0 * tokens * inner * columns / self.shape.device.flops * share
        text = rows.upper()
        if rows == "routed":
            dims = f"[[{text}, {inner}], [8, {inner}, {columns}], [8]]"
            self.add("kernel", "aten::_grouped_mm", kernel=GROUPED, dims=dims, ns=ns, scale=rows)
        else:
            dims = f"[[{text}, {inner}], [{inner}, {columns}]]"
            self.add("kernel", "aten::mm", kernel=GEMM, dims=dims, ns=ns, scale=rows)

    def passes(
        self, name: str, kernel: str, columns: int, reads: float, rows: str = "tokens"
    ) -> None:
        """An elementwise kernel over the tokens."""
        tokens = self.shape.tokens * (CHOSEN_EXPERTS if rows == "routed" else 1)
        ns = reads * tokens * columns * BYTES / self.shape.device.memory + 2000.0
        dims = f"[[{rows.upper()}, {columns}]]"
        self.add("kernel", name, kernel=kernel, dims=dims, ns=ns, scale=rows)

    def attention(self, share: float, *, is_backward: bool) -> None:
        shape = self.shape
        way = "bwd" if is_backward else "fwd"
        width = shape.hidden // shape.tensor
        ns = 2.0 * shape.tokens * min(shape.tokens, 4096) * width / shape.device.flops * 1.5 * share
        name = "aten::_flash_attention_" + ("backward" if is_backward else "forward")
        dims = f"[[1, TOKENS, {width // 128}, 128], [1, TOKENS, {width // 128}, 128]]"
        kernel = ATTENTION.format(way, way, way.capitalize())
        self.add("kernel", name, kernel=kernel, dims=dims, ns=ns, scale="tokens")

    def reduce_activations(self) -> None:
        """Tensor-parallel ranks sum what each computed of a layer's output."""
        if not self.has_tensor:
            return
        size = float(self.shape.tokens * self.shape.hidden * BYTES)
        # Sequence parallelism sums in two parts.
        is_split = self.shape.naming == "mesh"
        for name in ("reduce_scatter", "all_gather") if is_split else ("all_reduce",):
            self.add("collective", name, size=size, scale="tokens", group=TENSOR)

    def exchange(self, mark: str) -> None:
        """Tokens go to the ranks of their experts (``dispatch``), or back (``combine``)."""
        size = float(self.shape.tokens * CHOSEN_EXPERTS * self.shape.hidden * BYTES)
        self.add("collective", "all_to_all", size=size, scale="routed", group=EXPERT, mark=mark)

    def layer_forward(self, routing: int) -> None:
        """A layer of one microbatch; ``routing`` numbers both together."""
        shape = self.shape
        self.routing = routing
        hidden, width = shape.hidden, shape.hidden // shape.tensor
        self.passes("aten::native_layer_norm", NORM, hidden, 2)
        self.product("tokens", hidden, 3 * width)
        self.attention(1.0, is_backward=False)
        if shape.is_fine:
            self.product("tokens", width, hidden)
        self.reduce_activations()
        if shape.expert > 1:
            self.product("tokens", hidden, 8 * shape.expert)
            self.exchange("dispatch")
            self.product("routed", hidden, 2 * width)
            if shape.is_fine:
                self.passes("aten::gelu", GELU, 2 * width, 2, "routed")
            self.product("routed", 2 * width, hidden)
            self.exchange("combine")
        else:
            self.product("tokens", hidden, 4 * width)
            if shape.is_fine:
                self.passes("aten::gelu", GELU, 4 * width, 2)
            self.product("tokens", 4 * width, hidden)
        self.reduce_activations()

    def layer_backward(self, routing: int) -> None:
        """The same backwards."""
        shape = self.shape
        self.routing = routing
        hidden, width = shape.hidden, shape.hidden // shape.tensor
        times = (1.0, 1.0) if shape.is_fine else (2.0,)
        self.reduce_activations()
        rows, wide = ("routed", 2 * width) if shape.expert > 1 else ("tokens", 4 * width)
        if shape.expert > 1:
            self.exchange("dispatch")
        for share in times:
            self.product(rows, hidden, wide, share)
        if shape.is_fine:
            self.passes("aten::gelu_backward", GELU, wide, 3, rows)
        for share in times:
            self.product(rows, wide, hidden, share)
        if shape.expert > 1:
            self.exchange("combine")
        if shape.is_fine:
            self.product("tokens", hidden, width, 2.0)
        self.attention(2.5, is_backward=True)
        for share in times:
            self.product("tokens", 3 * width, hidden, share)
        self.passes("aten::native_layer_norm_backward", NORM_BACKWARD, hidden, 3)
        self.reduce_activations()

    @property
    def layer_size(self) -> float:
        """Bytes of a layer's weights on one rank."""
        shape = self.shape
        return 12.0 * shape.hidden * shape.hidden / shape.tensor * BYTES

    def gather(self, layer: int, mark: str) -> None:
        """Launch the gathering of a layer's weights (fully sharded)."""
        self.add(
            "collective", "all_gather", size=self.layer_size, group=DATA, blocks=False,
            mark=f"{mark}{layer}",
        )  # fmt: skip

    def forward(self, number: int) -> None:
        """The forward pass of a microbatch."""
        self.is_backward = False
        is_sharded = self.shape.sharding == "fsdp" and self.shape.data > 1
        if not self.is_first:
            size = float(self.shape.tokens * self.shape.hidden * BYTES)
            self.add("receive", "forward", size=size, scale="tokens", group=PIPELINE)
        else:
            self.passes("aten::embedding", EMBEDDING, self.shape.hidden, 2)
        if is_sharded:
            self.gather(0, "forward")
        for layer in range(self.layers):
            if is_sharded:
                if layer + 1 < self.layers:
                    self.gather(layer + 1, "forward")
                self.add("wait", "", mark=f"forward{layer}")
            self.layer_forward(number * self.layers + layer)
        if self.is_last:
            columns = self.shape.vocabulary // self.shape.tensor
            self.product("tokens", self.shape.hidden, columns)
            self.passes("aten::_log_softmax", SOFTMAX, columns, 2)
        else:
            size = float(self.shape.tokens * self.shape.hidden * BYTES)
            self.add("send", "forward", size=size, scale="tokens", group=PIPELINE, blocks=False)

    def backward(self, number: int) -> None:
        """The backward pass of a microbatch; the last one synchronizes gradients."""
        is_final = number == self.shape.microbatches - 1
        shape = self.shape
        self.is_backward = True
        size = float(shape.tokens * shape.hidden * BYTES)
        is_sharded = shape.sharding == "fsdp" and shape.data > 1
        if not self.is_last:
            self.add("receive", "backward", size=size, scale="tokens", group=PIPELINE)
        else:
            columns = shape.vocabulary // shape.tensor
            self.product("tokens", columns, shape.hidden, 2.0)
        for layer in reversed(range(self.layers)):
            if is_sharded:
                self.gather(layer, "backward")
                self.add("wait", "", mark=f"backward{layer}")
            self.layer_backward(number * self.layers + layer)
            if is_final and shape.data > 1:
                kind = "all_reduce" if shape.sharding == "ddp" else "reduce_scatter"
                self.add(
                    "collective", kind, size=2 * self.layer_size, group=DATA, blocks=False,
                    mark="gradients",
                )  # fmt: skip
        if self.is_first:
            self.passes("aten::embedding_dense_backward", EMBEDDING, shape.hidden, 3)
        else:
            self.add("send", "backward", size=size, scale="tokens", group=PIPELINE, blocks=False)
        self.is_backward = False


def schedule(stage: int, stages: int, microbatches: int) -> Iterator[tuple[bool, int]]:
    """The order of one-forward-one-backward: whether it is a forward, and of which microbatch."""
    warmup = min(stages - 1 - stage, microbatches)
    for number in range(warmup):
        yield True, number
    for number in range(microbatches - warmup):
        yield True, warmup + number
        yield False, number
    for number in range(microbatches - warmup, microbatches):
        yield False, number


def program(topology: Topology, stage: int, layers: int) -> list[Op]:
    """A step of one stage."""
    shape = topology.shape
    writer = _Writer(
        shape, TENSOR in topology.members, layers, stage == 0, stage == shape.pipeline - 1
    )
    writer.add("input", "")
    writer.add("pause", "begin")
    if shape.sharding == "zero" and shape.data > 1:
        size = writer.layer_size * layers
        writer.add("collective", "all_gather", size=size, group=DATA)
    order = list(schedule(stage, shape.pipeline, shape.microbatches))
    for place, (is_forward, number) in enumerate(order):
        if place == len(order) // 2:
            writer.add("pause", "middle")
        if is_forward:
            writer.forward(number)
        else:
            writer.backward(number)
    writer.add("pause", "end")
    if shape.data > 1:
        writer.add("wait", "", mark="gradients")
    norm = MODEL if MODEL in topology.members else WORLD
    writer.add("collective", "all_reduce", size=4.0, group=norm)
    weights = writer.layer_size * layers / (1 if shape.sharding == "ddp" else shape.data)
    for _ in range(2):
        ns = weights * 4 / shape.device.memory + 2000.0
        dims = f"[[{int(weights / BYTES / 2)}]]"
        writer.add("kernel", "aten::_fused_adamw_", kernel=ADAM, dims=dims, ns=ns)
    writer.add("sync" if shape.has_sync else "event", "")
    return writer.ops
