"""Programs on the CPU that know their own tensors: what each block of a recording was for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers import traces as t
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.trace.model import Trace

FEATURES, HIDDEN, CLASSES, BATCH, WORDS = 48, 56, 7, 33, 211


@dataclass
class Notes:
    """What a program notes of its tensors while they are alive: where, when and what for."""

    noted: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, tensors: Any, category: str) -> None:
        """Tensors that are alive now, of one category."""
        now = time.time_ns()
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                self.noted.append((storage.data_ptr(), now, category))


@dataclass(frozen=True)
class Recording:
    """A recording with what its program knew.

    Attributes:
        trace: The recording.
        truth: Per memory record what its block was for, "" where the program did not say.
        parameter_bytes: Bytes of the model's parameters.
    """

    trace: Trace
    truth: list[str]
    parameter_bytes: int


def make_model() -> Any:
    """A small transformer layer over embedded words."""
    import torch  # noqa: PLC0415 - not everywhere
    from torch import nn  # noqa: PLC0415 - not everywhere

    class Net(nn.Module):  # type: ignore[misc]
        """Embedding, attention, feed-forward, head."""

        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, FEATURES)
            self.norm = nn.LayerNorm(FEATURES)
            self.mixed = nn.Linear(FEATURES, 3 * FEATURES)
            self.wide = nn.Linear(FEATURES, HIDDEN)
            self.head = nn.Linear(HIDDEN, CLASSES)

        def forward(self, numbers: Any) -> Any:
            hidden = self.norm(self.words(numbers))
            query, key, value = self.mixed(hidden).chunk(3, dim=-1)
            mixed = nn.functional.scaled_dot_product_attention(query, key, value)
            return self.head(torch.relu(self.wide(hidden + mixed))).mean(1)

    return Net()


def train(
    notes: Notes,
    *,
    optimizer: str,
    microbatches: int = 1,
    set_to_none: bool = True,
    before: int = 0,
    steps: int = 3,
    folder: Path,
) -> Recording:
    """Training: the model is made in the recording, or ``before`` steps before it begins."""
    import torch  # noqa: PLC0415 - not everywhere

    torch.manual_seed(3)
    state: dict[str, Any] = {}

    def setup() -> None:
        model = make_model()
        make = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
        more = {} if optimizer == "adam" else {"momentum": 0.9}
        state.update(model=model, optimizer=make(model.parameters(), lr=1e-3, **more))

    def step() -> None:
        model, opt = state["model"], state["optimizer"]
        for _ in range(microbatches):
            numbers = torch.randint(0, WORDS, (BATCH, 9))
            wanted = torch.randint(0, CLASSES, (BATCH,))
            notes.add((numbers, wanted), "input")
            with torch.autograd.graph.saved_tensors_hooks(noting(notes), lambda kept: kept):
                loss = torch.nn.functional.cross_entropy(model(numbers), wanted)
            loss.backward()
            notes.add((p.grad for p in model.parameters()), "gradient")
        opt.step()
        kept = [one for each in opt.state.values() for one in each.values()]
        notes.add((one for one in kept if torch.is_tensor(one)), "optimizer_state")
        opt.zero_grad(set_to_none=set_to_none)

    if before:
        setup()
        for _ in range(before):
            step()
        notes.noted.clear()

    def program() -> None:
        if not before:
            setup()
        notes.add(state["model"].parameters(), "parameter")
        for _ in range(steps):
            step()

    recording = record(program, folder)
    return finished(recording, notes, state["model"])


def infer(notes: Notes, *, steps: int = 3, folder: Path) -> Recording:
    """Inference without gradients, its model made in the recording."""
    import torch  # noqa: PLC0415 - not everywhere

    state: dict[str, Any] = {}

    def program() -> None:
        state["model"] = make_model()
        notes.add(state["model"].parameters(), "parameter")
        with torch.no_grad():
            for _ in range(steps):
                with torch.profiler.record_function("forward"):
                    hidden = state["model"](numbers := torch.randint(0, WORDS, (BATCH, 9)))
                notes.add((numbers,), "input")
                del hidden, numbers

    return finished(record(program, folder), notes, state["model"])


def noting(notes: Notes) -> Callable[[Any], Any]:
    """A hook that notes what is saved for the backward pass."""

    def pack(tensor: Any) -> Any:
        notes.add((tensor.detach(),), "activation")
        return tensor

    return pack


def record(program: Callable[[], None], folder: Path) -> tuple[list[Any], int]:
    """The events of a recording of ``program``, and the time they count from."""
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 - not everywhere

    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True
    ) as recorded:
        program()
    path = folder / "trace.json"
    recorded.export_chrome_trace(str(path))
    read = json.loads(path.read_text())
    return read["traceEvents"], int(read["baseTimeNanoseconds"])


def finished(recording: tuple[list[Any], int], notes: Notes, model: Any) -> Recording:
    """The trace, and what its blocks were for."""
    events, base_ns = recording
    trace = t.trace(events)
    records = memory_records(trace)
    addresses = trace.memory["address"].fill_null(-1).to_numpy()
    ended = np.append(records.time_ns, np.iinfo(np.int64).max)
    end = ended[np.minimum(records.pairs.end, len(records.time_ns))]
    truth = [""] * len(records.time_ns)
    # Of what was several things the first counts: inputs and parameters are saved too.
    for address, now_ns, category in reversed(notes.noted):
        moment = now_ns - base_ns
        rows = np.flatnonzero(
            (addresses == address)
            & (records.size_bytes > 0)
            & (records.time_ns <= moment)
            & (end > moment)
        )
        for row in rows.tolist():
            truth[row] = category
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    return Recording(trace, truth, size)
