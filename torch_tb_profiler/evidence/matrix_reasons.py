"""Why a matrix operator did not use matrix units, from the types and shapes of its inputs."""

from __future__ import annotations

from typing import NamedTuple

from torch_tb_profiler.evidence.arithmetic_intensity import listed
from torch_tb_profiler.knowledge import dtypes, gpus

ALIGNMENT_BYTES = 16
"""Matrix units need rows of this many bytes (NVIDIA's matrix multiplication guide: 8 elements of
16 bits, 16 of 8 bits)."""


class Why(NamedTuple):
    """A reason.

    Attributes:
        cause: What can be done about it: ``"tf32"`` (float32 where TF32 would be allowed),
            ``"float32"``, ``"type"``, ``"sizes"``, ``"small"``, ``"library"``, ``"unknown"``.
        text: For people.
    """

    cause: str
    text: str


UNKNOWN = Why("unknown", "the recording does not tell types and shapes of inputs")


def why_unused(
    shapes: str | None,
    types: str | None,
    architecture: gpus.Architecture | None,
    unknown: str = UNKNOWN.text,
    allows_tf32: bool | None = None,
) -> Why:
    """Why the operator with these inputs did not use the matrix units of its device; ``unknown``
    where the recording does not tell of inputs, ``allows_tf32`` where it tells whether float32
    products may run in TF32."""
    names = [dtypes.canonical(name) for name in listed(types) if isinstance(name, str)]
    tensors = [
        (shape, name)
        for shape, name in zip(listed(shapes), names, strict=False)
        if name is not None and isinstance(shape, list) and len(shape) > 1
    ]
    if not tensors:
        return UNKNOWN._replace(text=unknown)
    dtype = tensors[0][1] or ""
    taken = architecture.matrix_dtypes if architecture else ()
    if dtype not in taken:
        return _of_type(dtype, architecture, allows_tf32)
    size = dtypes.size_bytes(dtype) or 1
    multiple = max(1, ALIGNMENT_BYTES // size)
    sizes = [n for shape, _ in tensors for n in shape[-2:] if isinstance(n, int)]
    odd = sorted({n for n in sizes if n % multiple})
    if odd:
        listing = ", ".join(map(str, odd[:3]))
        return Why("sizes", f"sizes that are no multiple of {multiple} ({listing})")
    if any(n < 2 * multiple for n in sizes):
        return Why("small", "matrices too small")
    return Why("library", "types and shapes fit; the library chose otherwise")


def _of_type(dtype: str, architecture: gpus.Architecture | None, allows_tf32: bool | None) -> Why:
    if architecture is None:
        return Why("unknown", f"{dtype} inputs on a GPU of unknown generation")
    if dtype == "float32" and "tf32" in architecture.matrix_dtypes:
        if allows_tf32:
            return Why("library", "float32 inputs; TF32 is allowed, the library chose otherwise")
        return Why("tf32", "float32 inputs and TF32 not allowed")
    text = f"{dtype} inputs, which its matrix units do not take"
    return Why("float32" if dtype == "float32" else "type", text)
