"""Loops: ``loops.py NAME SEED``."""

from __future__ import annotations

import copy
import io
import pickle
import resource
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from truth import FEATURES, Net, Rows, Truth, loss_of, say, seeded, train


def plain(some: Random) -> None:
    """No data loader."""
    say("loss", train(Truth(), some.randint(12, 20)))


def adversarial(some: Random) -> None:
    """Two optimizers by turns, as of a GAN."""
    truth, one, other = Truth(), Net(), Net()
    optimizers = [torch.optim.Adam(each.parameters()) for each in (one, other)]
    for _ in range(some.randint(12, 20)):
        rows = torch.randn(8, FEATURES)
        truth.begin()
        for position, net in enumerate((one, other)):
            optimizers[position].zero_grad()
            loss_of(net, rows).backward()
            if position:
                truth.closing()
            optimizers[position].step()
    say("done")


def closure(some: Random) -> None:
    """L-BFGS calls the model many times a step."""
    truth, net = Truth(), Net(8)
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
    for _ in range(some.randint(11, 15)):
        rows = torch.randn(16, FEATURES)
        truth.begin()

        def again(rows: Tensor = rows) -> Tensor:
            optimizer.zero_grad()
            loss = loss_of(net, rows)
            loss.backward()
            return loss

        truth.closing()
        optimizer.step(again)
    say("done")


def in_backward(some: Random) -> None:
    """An optimizer per parameter, which steps within the backward pass."""
    truth, net = Truth(), Net()
    owners = {each: torch.optim.SGD([each], lr=1e-3) for each in net.parameters()}

    def step(parameter: Tensor) -> None:
        owners[parameter].step()
        owners[parameter].zero_grad()

    for each in net.parameters():
        each.register_post_accumulate_grad_hook(step)
    for rows in DataLoader(Rows(8 * some.randint(12, 20)), 8):
        truth.begin()
        truth.closing()
        loss_of(net, rows).backward()
    say("done")


def own_optimizer(some: Random) -> None:
    """An optimizer that is none of torch's."""
    truth, net = Truth(), Net()
    for rows in DataLoader(Rows(8 * some.randint(12, 20)), 8):
        truth.begin()
        loss_of(net, rows).backward()
        truth.closing()
        with torch.no_grad():
            for each in net.parameters():
                each.sub_(1e-3 * each.grad)
                each.grad = None
    say("done")


def accumulated(some: Random) -> None:
    """Gradients of three batches, a scaler, and an evaluation after each epoch."""
    truth, net = Truth(), Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    batches = 3 * some.randint(6, 9)
    for _ in range(2):
        net.train()
        for number, rows in enumerate(DataLoader(Rows(4 * batches), 4, shuffle=True)):
            if number % 3 == 0:
                truth.begin()
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_of(net, rows)
            scaler.scale(loss).backward()
            if number % 3 == 2:
                truth.closing()
                scaler.step(optimizer)
                optimizer.zero_grad()
        net.eval()
        with torch.inference_mode():
            say("evaluation", sum(loss_of(net, rows).item() for rows in DataLoader(Rows(32), 8)))


class Stream(IterableDataset[Tensor]):
    """Rows that two workers share."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        first, every = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, self._count, every):
            yield torch.full((FEATURES,), index / self._count)


def persistent(some: Random) -> None:
    """Two persistent workers of an iterable dataset, for three epochs."""
    truth, net = Truth(), Net()
    optimizer = torch.optim.Adam(net.parameters())
    loader = DataLoader(Stream(8 * some.randint(8, 12)), 4, num_workers=2, persistent_workers=True)
    for _ in range(3):
        for rows in loader:
            truth.begin()
            loss = loss_of(net, rows)
            optimizer.zero_grad()
            loss.backward()
            truth.closing()
            optimizer.step()
        say("loss", loss.item())


def spawned_workers(some: Random) -> None:
    """Workers that are spawned, with a transform, left in the middle of an epoch."""
    truth, net = Truth(), Net()
    optimizer = torch.optim.Adam(net.parameters())
    rows = Rows(8 * 40)
    rows.transform = torch.abs  # type: ignore[attr-defined]
    last = some.randint(12, 18)
    loader = DataLoader(rows, 8, num_workers=2, multiprocessing_context="spawn")
    for number, batch in enumerate(loader):
        truth.begin()
        loss_of(net, batch).backward()
        truth.closing()
        optimizer.step()
        if number == last:
            break
    say("done")


def compiled(some: Random) -> None:
    """A compiled model and a compiled function."""
    torch.set_num_threads(1)
    net = torch.compile(Net(), backend="aot_eager")
    say("loss", train(Truth(), some.randint(12, 20), net))


def copied(some: Random) -> None:
    """Copies, pickles and scripts its model while it trains: all are as without a recorder."""
    truth, net = Truth(), Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    sizes = []
    for _ in range(some.randint(12, 16)):
        rows = torch.randn(8, FEATURES)
        truth.begin()
        loss_of(net, rows).backward()
        truth.closing()
        optimizer.step()
        file = io.BytesIO()
        torch.save(net, file)
        copied = copy.deepcopy(net)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scripted = torch.jit.script(copied)
        sizes += [len(pickle.dumps(net)), len(file.getvalue()), len(scripted.code)]
    say(sizes)


def own_profiler(some: Random) -> None:
    """Runs its own profiler with a schedule."""
    kinds = []
    schedule = torch.profiler.schedule(wait=2, warmup=1, active=3, repeat=2)
    truth, net = Truth(), Net()
    optimizer = torch.optim.Adam(net.parameters())

    def ready(profiler: Any) -> None:
        kinds.append(sorted({each.key for each in profiler.key_averages() if "addmm" in each.key}))

    with torch.profiler.profile(schedule=schedule, on_trace_ready=ready) as profiler:
        for _ in range(some.randint(14, 18)):
            truth.begin()
            loss_of(net, torch.randn(8, FEATURES)).backward()
            truth.closing()
            optimizer.step()
            profiler.step()
    say(kinds)


def own_trace(some: Random) -> None:
    """Traces every line of itself, and is traced for memory."""
    lines: list[str] = []

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        if event == "call" and frame.f_code.co_filename == __file__:
            lines.append(frame.f_code.co_name)
        return trace

    tracemalloc.start()
    sys.settrace(trace)
    loss = train(Truth(), some.randint(12, 14))
    sys.settrace(None)
    say(loss, lines[:9], tracemalloc.is_tracing())


def strict(some: Random) -> None:
    """Warnings are errors, recursion and files are limited."""
    warnings.simplefilter("error")
    sys.setrecursionlimit(200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    say("loss", train(Truth(), some.randint(12, 20)))


PROGRAMS = {name: each for name, each in list(globals().items()) if callable(each)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](seeded(int(sys.argv[2])))
