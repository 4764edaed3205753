"""Data parallelism of a program: DDP, FSDP or DataParallel, and their options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

BYTES_PER_MB = 1 << 20

DDP_SWITCHES = (
    "find_unused_parameters", "gradient_as_bucket_view", "static_graph", "broadcast_buffers",
)  # fmt: skip
FSDP_SWITCHES = ("forward_prefetch", "limit_all_gathers", "_use_orig_params")
STATES = "torch.distributed._composable_state"
"""torch's module that holds FSDP2's state of each ``nn.Module``."""


def data_parallel_settings(
    ddp: Iterable[Any],
    fsdp: Iterable[Any],
    data_parallel: bool,
    allows_fsdp2: Callable[[], bool] = lambda: True,
) -> dict[str, Any]:
    """The settings of data parallelism.

    Args:
        ddp: Instances of DistributedDataParallel.
        fsdp: Instances of FullyShardedDataParallel, the outermost first.
        data_parallel: Whether DataParallel is used.
        allows_fsdp2: Called if ``fully_shard`` is used: whether its state can be read.
    """
    for name, wrappers, options in (
        ("DDP", ddp, _ddp_options),
        ("FSDP", fsdp, _fsdp_options),
        ("FSDP2", _fsdp2_states(), _fsdp2_options),
    ):
        first = next(iter(wrappers), None)
        if first is not None and (name != "FSDP2" or allows_fsdp2()):
            values = {key: value for key, value in options(first).items() if value is not None}
            return {"data_parallel": name, "data_parallel_options": {**values, **_job()}}
    return {"data_parallel": "DataParallel" if data_parallel else ""}


def _ddp_options(ddp: Any) -> dict[str, Any]:
    bucket_bytes = getattr(ddp, "bucket_bytes_cap", None)
    hooks = getattr(ddp, "_comm_hooks", None)
    precision = getattr(ddp, "mixed_precision", None)
    return {
        "bucket_cap_mb": None if bucket_bytes is None else int(bucket_bytes) // BYTES_PER_MB,
        **{key: _flag(ddp, key) for key in DDP_SWITCHES},
        "mixed_precision": _dtype(getattr(precision, "param_dtype", None)),
        "communication_hook": getattr(hooks[0][0], "__name__", None) if hooks else None,
    }


def _fsdp_options(fsdp: Any) -> dict[str, Any]:
    precision = getattr(fsdp, "mixed_precision", None)
    return {
        "sharding_strategy": _name(getattr(fsdp, "sharding_strategy", None)),
        "backward_prefetch": _name(getattr(fsdp, "backward_prefetch", None)),
        **{key.removeprefix("_"): _flag(fsdp, key) for key in FSDP_SWITCHES},
        "mixed_precision": _dtype(getattr(precision, "param_dtype", None)),
        "reduce_dtype": _dtype(getattr(precision, "reduce_dtype", None)),
        "cpu_offload": _flag(getattr(fsdp, "cpu_offload", None), "offload_params"),
    }


def _fsdp2_states() -> list[Any]:
    states = getattr(sys.modules.get(STATES), "_module_state_mapping", {})
    values = [each() if callable(each) else each for each in list(states.values())]
    return [each for each in values if type(each).__name__ == "FSDPState"]


def _fsdp2_options(state: Any) -> dict[str, Any]:
    precision = getattr(state, "_mp_policy", None)
    groups = getattr(state, "_fsdp_param_groups", None)  # since torch 2.12
    group = (
        getattr(state, "_fsdp_param_group", None) if groups is None else next(iter(groups), None)
    )
    reshards = getattr(group, "post_forward_mesh_info", None) is not None
    return {
        "reshard_after_forward": None if group is None else reshards,
        "mixed_precision": _dtype(getattr(precision, "param_dtype", None)),
        "reduce_dtype": _dtype(getattr(precision, "reduce_dtype", None)),
    }


def _job() -> dict[str, Any]:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_initialized():
        return {}
    return {
        "backend": str(distributed.get_backend()),
        "world_size": int(distributed.get_world_size()),
    }


def _flag(owner: Any, name: str) -> bool | None:
    value = getattr(owner, name, None)
    return None if value is None else bool(value)


def _name(value: Any) -> str | None:
    """Name of an enum member; None for other values."""
    return getattr(value, "name", None)


def _dtype(value: Any) -> str | None:
    return None if value is None else str(value).removeprefix("torch.")
