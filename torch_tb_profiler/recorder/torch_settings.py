"""Switches of torch, and how optimizers update, as they are in effect.

No switch is asked in a way that warns or raises in the program: torch 2.9 and later complain where
the old and the new API of TF32 are mixed, so only the new one is asked where it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

FUSED_PACKAGES = ("apex", "bitsandbytes", "deepspeed", "transformer_engine")
"""Their optimizers update by fused kernels of their own."""

PRECISIONS = {"tf32": "high", "ieee": "highest", "bf16": "medium"}
"""Precision of products by the new API → the word of the old one."""


def switches(torch: Any) -> dict[str, Any]:
    """Switches of torch that change how fast it is; what this torch does not have is left out."""
    asked: dict[str, Callable[[], Any]] = {
        "cudnn_benchmark": lambda: bool(torch.backends.cudnn.benchmark),
        "cudnn_deterministic": lambda: bool(torch.backends.cudnn.deterministic),
        "deterministic_algorithms": lambda: bool(torch.are_deterministic_algorithms_enabled()),
        "tf32_matmul": lambda: _is_tf32(torch, torch.backends.cuda.matmul, False),
        "tf32_cudnn": lambda: _is_tf32(
            torch, getattr(torch.backends.cudnn, "conv", torch.backends.cudnn), True
        ),
        "matmul_precision": lambda: _matmul_precision(torch),
    }
    found = {}
    for key, ask in asked.items():
        with suppress(Exception):
            found[key] = ask()
    return found


def _is_tf32(torch: Any, backend: Any, otherwise: bool) -> bool:
    """Whether a backend may compute float32 in TF32; ``otherwise``: where nothing was set."""
    words = [getattr(each, "fp32_precision", None) for each in (backend, torch.backends)]
    if words[0] is None:  # before torch 2.9
        return bool(backend.allow_tf32)
    word = next((each for each in words if each not in (None, "none")), None)
    return otherwise if word is None else word == "tf32"


def _matmul_precision(torch: Any) -> str:
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:  # it was set by the new API
        return PRECISIONS.get(torch.backends.cuda.matmul.fp32_precision, "highest")


def of_module(module: Callable[[], Any] | None) -> dict[str, Any]:
    """How many parameters a module has, by a reference to it; of programs without optimizers."""
    found = None if module is None else module()
    if found is None:
        return {}
    return {"parameters": sum(int(each.numel()) for each in found.parameters())}


def of_optimizers(optimizers: Iterable[Any]) -> dict[str, Any]:
    """Kinds of optimizers, how they update, and how many parameters they have."""
    kinds: dict[str, None] = {}
    sizes: dict[int, int] = {}
    ways: list[tuple[bool | None, bool | None]] = []
    for optimizer in optimizers:
        groups = list(getattr(optimizer, "param_groups", ()))
        if not any(group.get("params") for group in groups):
            continue
        kinds[type(optimizer).__name__] = None
        for group in groups:
            sizes.update((id(each), int(each.numel())) for each in group["params"])
            ways.append(_way(optimizer, group))
    if not kinds:
        return {}
    values = {
        "optimizer": ", ".join(kinds),
        "parameters": sum(sizes.values()),
        "optimizer_fused": _all([fused for fused, _ in ways]),
        "optimizer_foreach": _all([foreach for _, foreach in ways]),
    }
    return {key: value for key, value in values.items() if value is not None}


def _all(flags: list[bool | None]) -> bool | None:
    """Whether all are true; None where that is not known."""
    return False if False in flags else None if None in flags else True


def _way(optimizer: Any, group: dict[str, Any]) -> tuple[bool | None, bool | None]:
    """Whether a group of parameters is updated by fused kernels, and by those of many tensors."""
    name = type(optimizer).__name__
    if type(optimizer).__module__.split(".")[0] in FUSED_PACKAGES or name.startswith("Fused"):
        return True, False
    fused, foreach = group.get("fused"), group.get("foreach")
    if "foreach" not in group:
        return fused, None
    if fused is None and foreach is None:
        with suppress(Exception):
            from torch.optim.optimizer import (  # noqa: PLC0415 - the program has imported it
                _default_to_fused_or_foreach,
            )

            _, foreach = _default_to_fused_or_foreach(
                group["params"], bool(group.get("differentiable")), use_fused=False
            )
            return False, bool(foreach)
        return None, None
    return bool(fused), bool(foreach) and not fused
