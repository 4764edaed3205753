"""Switches of torch as they are in effect, and how optimizers update parameters.

Reading a switch must not warn or raise in the program: torch 2.9 and later complain when the old
and new TF32 APIs are mixed, so only the new one is used where it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

FUSED_PACKAGES = ("apex", "bitsandbytes", "deepspeed", "transformer_engine")
"""Packages whose optimizers use their own fused kernels."""

PRECISIONS = {"tf32": "high", "ieee": "highest", "bf16": "medium"}
"""Matmul precision in the new API → its name in the old one."""


def torch_switches(torch: Any) -> dict[str, Any]:
    """Switches of torch that affect performance; those this version lacks are omitted."""
    getters: dict[str, Callable[[], Any]] = {
        "cudnn_benchmark": lambda: bool(torch.backends.cudnn.benchmark),
        "cudnn_deterministic": lambda: bool(torch.backends.cudnn.deterministic),
        "deterministic_algorithms": lambda: bool(torch.are_deterministic_algorithms_enabled()),
        "tf32_matmul": lambda: _is_tf32(torch, torch.backends.cuda.matmul, False),
        "tf32_cudnn": lambda: _is_tf32(
            torch, getattr(torch.backends.cudnn, "conv", torch.backends.cudnn), True
        ),
        "matmul_precision": lambda: _matmul_precision(torch),
    }
    values = {}
    for key, read in getters.items():
        with suppress(Exception):
            values[key] = read()
    return values


def _is_tf32(torch: Any, backend: Any, otherwise: bool) -> bool:
    """Whether a backend may compute float32 in TF32; ``otherwise`` if nothing is set."""
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


def module_settings(module: Callable[[], Any] | None) -> dict[str, Any]:
    """Number of parameters of a module, given by a weak reference; for programs without
    optimizers."""
    target = None if module is None else module()
    if target is None:
        return {}
    return {"parameters": sum(int(each.numel()) for each in target.parameters())}


def optimizer_settings(optimizers: Iterable[Any]) -> dict[str, Any]:
    """Classes of optimizers, how they update, and the number of their parameters."""
    kinds: dict[str, None] = {}
    sizes: dict[int, int] = {}
    updates: list[tuple[bool | None, bool | None]] = []
    for optimizer in optimizers:
        groups = list(getattr(optimizer, "param_groups", ()))
        if not any(group.get("params") for group in groups):
            continue
        kinds[type(optimizer).__name__] = None
        for group in groups:
            sizes.update((id(each), int(each.numel())) for each in group["params"])
            updates.append(_update_kind(optimizer, group))
    if not kinds:
        return {}
    values = {
        "optimizer": ", ".join(kinds),
        "parameters": sum(sizes.values()),
        "optimizer_fused": _all([fused for fused, _ in updates]),
        "optimizer_foreach": _all([foreach for _, foreach in updates]),
    }
    return {key: value for key, value in values.items() if value is not None}


def _all(flags: list[bool | None]) -> bool | None:
    """Whether all flags are true; None if unknown."""
    return False if False in flags else None if None in flags else True


def _update_kind(optimizer: Any, group: dict[str, Any]) -> tuple[bool | None, bool | None]:
    """Whether a parameter group is updated by fused kernels, and by foreach kernels."""
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
