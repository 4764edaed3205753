"""The rank of a process, from the variables by which launchers state it.

An environment holds secrets too: only these variables are decoded, and only as numbers.
"""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from torch_tb_profiler.trace.limits import MAX_RANKS


class _Environment(msgspec.Struct):
    """Variables of torchrun, Open MPI, MPICH and Slurm."""

    RANK: Any = None
    WORLD_SIZE: Any = None
    OMPI_COMM_WORLD_RANK: Any = None
    OMPI_COMM_WORLD_SIZE: Any = None
    PMI_RANK: Any = None
    PMI_SIZE: Any = None
    SLURM_PROCID: Any = None
    SLURM_NTASKS: Any = None


_DECODER = msgspec.json.Decoder(_Environment)


def read_rank(environments: pl.Series) -> tuple[int | None, int | None]:
    """The rank and the number of ranks in the environment of a process; None for what it does not
    state.

    Args:
        environments: The environments of a file's processes, as JSON; only one alone counts.
    """
    texts = environments.drop_nulls().to_list()
    if len(texts) != 1:
        return None, None
    try:
        values = _DECODER.decode(texts[0])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None, None
    pairs = (
        (values.RANK, values.WORLD_SIZE),
        (values.OMPI_COMM_WORLD_RANK, values.OMPI_COMM_WORLD_SIZE),
        (values.PMI_RANK, values.PMI_SIZE),
        (values.SLURM_PROCID, values.SLURM_NTASKS),
    )
    for rank, world_size in pairs:
        known = _number(rank)
        if known is not None:
            return known, _number(world_size)
    return None, None


def _number(value: Any) -> int | None:
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal()
    return int(value) if is_number and len(value) < 9 and int(value) < MAX_RANKS else None
