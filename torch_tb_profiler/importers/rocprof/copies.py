"""The direction of copies, by the agents whose memory they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.rocprof.recording import Agent
from torch_tb_profiler.importers.rocprof.vocabulary import copy_name
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import Int64


def classify_copies(
    agents: Mapping[int, Agent],
    source: Int64,
    target: Int64,
    operation: Int64,
    *,
    operations: Sequence[str],
    texts: TextCodes,
) -> tuple[Int64, Int64]:
    """Per copy the code of its name, and the agent on which it is shown: the GPU, or of two the one
    that is written.

    Args:
        agents: Id → agent.
        source: The agent that is read.
        target: The agent that is written.
        operation: The position of the recorder's name in ``operations``.
        operations: The recorder's names, which have the direction too.
        texts: Receives the names.
    """
    known, inverse = distinct_rows(source, target, operation)
    names, shown = [], []
    for from_id, to_id, position in zip(*(each.tolist() for each in known), strict=True):
        from_gpu, to_gpu = (
            agents[each].is_gpu if each in agents else None for each in (from_id, to_id)
        )
        names.append(copy_name(from_gpu, to_gpu, operations[position]))
        shown.append(from_id if from_gpu and not to_gpu else to_id)
    name_code = texts.codes(names).astype(np.int64)
    return name_code[inverse], np.array(shown, np.int64)[inverse]
