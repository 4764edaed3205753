"""Writes what torch.profiler would have recorded of a job, a file per rank.

Each operation is a text with gaps for the times, so that a rank's file is a few thousand text
formattings.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.cluster.model import Job, Record, Stage
from bench.cluster.network import Floats
from bench.cluster.program import BYTES, CHOSEN_EXPERTS, COMPUTE, Op
from bench.cluster.topology import EXPERT, Group

BASE_NS = 1_795_312_081_000_000_000
START_US = 3_600_000_000.0
"""The recording says times since ``BASE_NS``; this is the simulation's zero."""

STREAMS = {
    COMPUTE: 7, "tensor": 20, "data": 24, "expert": 28, "world": 32, "model": 36,
    "send forward": 40, "receive forward": 44, "send backward": 48, "receive backward": 52,
}  # fmt: skip
FIRST_CORRELATION = 3_000_000
HOST_GAP_US = 0.3
"""Between operators of a thread."""

MAX_NAMED_RANKS = 30
"""Members that torch writes of a larger process group."""

_KERNELS = {
    "all_reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce_scatter": (
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    ),
    "all_to_all": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
}
_COLLECTIVES = {
    "all_reduce": "allreduce", "all_gather": "_allgather_base",
    "reduce_scatter": "_reduce_scatter_base", "all_to_all": "all_to_allv",
}  # fmt: skip
"""As the metadata calls them."""

_RANGES = {
    "all_reduce": "nccl:all_reduce", "all_gather": "nccl:_all_gather_base",
    "reduce_scatter": "nccl:_reduce_scatter_base", "all_to_all": "nccl:all_to_all",
}  # fmt: skip
_LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
_SAVE = "torch/serialization.py(967): save"


def clock_offsets(job: Job, seed: int) -> Floats:
    """Nanoseconds that the clock of each node is ahead."""
    noise = job.topology.shape.noise
    chance = np.random.default_rng((seed, 5))
    return np.asarray(noise.offset_ns * chance.uniform(-1, 1, job.topology.shape.nodes))


def write_traces(job: Job, folder: Path, seed: int) -> None:
    """Write the files of all ranks into an existing folder.

    Raises:
        OSError: it cannot be written.
    """
    offsets = clock_offsets(job, seed)
    chance = np.random.default_rng((seed, 6))
    drift = job.topology.shape.noise.drift_ppm * 1e-6 * chance.uniform(-1, 1, len(offsets))
    for stage in job.stages:
        columns = _times(stage)
        for place, rank in enumerate(stage.ranks.tolist()):
            node = job.topology.node[rank]
            rate, ahead = 1.0 + drift[node], offsets[node] / 1e3 + START_US

            def clock(us: Any, rate: float = rate, ahead: float = ahead) -> Any:
                return us * rate + ahead

            writer = _RankWriter(job, stage, place, rank)
            steps = [
                (clock(float(start[place]) / 1e3), clock(float(end[place]) / 1e3))
                for start, end in stage.steps
            ]
            text = writer.text(clock(columns[:, :, place]).tolist(), steps)
            name = f"rank{rank}.{1_795_312_090_000 + rank}.pt.trace.json"
            (folder / name).write_text(text, encoding="utf-8")


def _times(stage: Stage) -> Floats:
    """Microseconds of every record: start, end, launch, launched, begin, finish of each rank."""

    def rows(record: Record) -> list[Floats]:
        empty = record.start
        launch = record.launch if record.launch is not None else empty
        launched = record.launched if record.launched is not None else empty
        begin = record.begin if record.begin is not None else empty
        finish = record.finish if record.finish is not None else empty
        return [record.start, record.end, launch, launched, begin, finish]

    return np.array([rows(record) for record in stage.records]) / 1e3


class _RankWriter:
    """Writes one rank's file."""

    def __init__(self, job: Job, stage: Stage, place: int, rank: int) -> None:
        self.job, self.stage, self.place, self.rank = job, stage, place, rank
        self.shape = job.topology.shape
        self.pid = 20_000 + rank * 7
        self.device = rank % self.shape.node_size
        self.groups = {group.dimension: group for group in job.topology.groups_of(rank)}
        self.tokens = int(self.shape.tokens * float(job.faults.tokens[rank]))
        self.sequence: dict[str, int] = defaultdict(lambda: 40 * self.shape.first_step)
        self.templates = {id(op): self._template(op) for op in stage.ops}
        self.external = 1000

    def text(self, rows: list[list[float]], steps: list[tuple[float, float]]) -> str:
        """The file: a row of times per record."""
        events = self._head(steps)
        for record, row in zip(self.stage.records, rows, strict=True):
            self.external += 2
            events.append(self._fill(record, row))
        listed = ",\n".join(event for event in events if event)
        header = json.dumps(self._header())[1:-1]
        return f'{{{header},"traceEvents":[\n{listed}\n]}}\n'

    def _header(self) -> dict[str, Any]:
        shape = self.shape
        config = [
            {
                "pg_name": group.name,
                "pg_desc": group.description,
                "backend_config": "cpu:gloo,cuda:nccl",
                "pg_size": len(group.ranks),
                "ranks": list(group.ranks),
            }
            for group in self.groups.values()
        ]
        devices = [
            {"id": number, "name": shape.device.name, **shape.device.properties}
            for number in range(min(shape.node_size, shape.ranks))
        ]
        return {
            "schemaVersion": 1,
            "deviceProperties": devices,
            "cuda_runtime_version": 13000,
            "cuda_driver_version": 13010,
            "record_shapes": 1,
            "with_stack": int(shape.has_stack),
            "distributedInfo": {
                "backend": "nccl",
                "rank": self.rank,
                "world_size": shape.ranks,
                "pg_count": len(config),
                "pg_config": config,
                "nccl_version": "2.28.9",
            },
            "host_name": self.job.topology.host(int(self.job.topology.node[self.rank])),
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE_NS,
            "traceName": f"rank{self.rank}.pt.trace.json",
        }

    def _head(self, steps: list[tuple[float, float]]) -> list[str]:
        first, last, pid = steps[0][0] - 50, steps[-1][1] + 50, self.pid
        events = [
            _meta("process_name", first, pid, 0, {"name": "python"}),
            _meta("process_labels", first, pid, 0, {"labels": "CPU"}),
            _meta("process_name", first, self.device, 0, {"name": "python"}),
            _meta("process_labels", first, self.device, 0, {"labels": f"GPU {self.device}"}),
            _meta("thread_name", first, pid, pid, {"name": f"thread {pid} (python)"}),
            _meta(
                "thread_name", first, pid, pid + 1, {"name": f"thread {pid + 1} (pt_autograd_0)"}
            ),
        ]
        events += [
            _meta("thread_name", first, self.device, stream, {"name": f"stream {stream} "})
            for stream in STREAMS.values()
        ]
        span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
                "tid": "PyTorch Profiler", "ts": first, "dur": last - first,
                "args": {"Op count": 0}}  # fmt: skip
        events.append(json.dumps(span))
        for number, (start, end) in enumerate(steps):
            name = f"ProfilerStep#{self.shape.first_step + number}"
            events.append(self._slice("user_annotation", name, pid) % (start, end - start, number))
            if self.shape.has_stack:
                event = self._frame("train.py(88): train_step", number)
                events.append(event % (start + 1, end - start - 2))
        return events

    def _slice(self, category: str, name: str, tid: int, more: str = "") -> str:
        return (
            f'{{"ph":"X","cat":"{category}","name":"{_quoted(name)}","pid":{self.pid},"tid":{tid},'
            f'"ts":%.3f,"dur":%.3f,"args":{{"External id":%d{more}}}}}'
        )

    def _frame(self, name: str, number: int) -> str:
        return (
            f'{{"ph":"X","cat":"python_function","name":"{_quoted(name)}","pid":{self.pid},'
            f'"tid":{self.pid},"ts":%.3f,"dur":%.3f,"args":{{"Python id":{number + 1},'
            f'"Python parent id":null}}}}'
        )

    def _launch(self, name: str, tid: int, cbid: int = 211) -> str:
        return (
            f'{{"ph":"X","cat":"cuda_runtime","name":"{name}","pid":{self.pid},"tid":{tid},'
            f'"ts":%.3f,"dur":%.3f,"args":{{"External id":%d,"cbid":{cbid},"correlation":%d}}}}'
        )

    def _work(self, name: str, stream: int, more: str = "", threads: int = 256) -> str:
        return (
            f'{{"ph":"X","cat":"kernel","name":"{_quoted(name)}","pid":{self.device},'
            f'"tid":{stream},"ts":%.3f,"dur":%.3f,"args":{{"External id":%d,"correlation":%d,'
            f'"device":{self.device},"context":1,"stream":{stream},'
            f'"grid":[512,1,1],"block":[{threads},1,1]{more}}}}}'
        )

    def _template(self, op: Op) -> str:
        """The text of an operation; what differs from step to step is left open."""
        tid = self.pid + op.is_backward
        if op.kind == "kernel":
            dims = op.dims.replace("TOKENS", str(self.tokens)).replace("ROUTED", "%d")
            types = ", ".join(['"c10::BFloat16"'] * (op.dims.count("[") - 1))
            more = f',"Input Dims":{dims},"Input type":[{types}],"Record function id":0'
            return ",\n".join(
                (
                    self._slice("cpu_op", op.name, tid, more),
                    self._launch("cudaLaunchKernel", tid),
                    self._work(op.kernel, STREAMS[COMPUTE]),
                )
            )
        if op.kind in ("collective", "send", "receive"):
            return self._communication(op, tid)
        if op.kind == "sync":
            return ",\n".join(
                (
                    self._slice("cpu_op", "aten::item", tid),
                    self._slice("cpu_op", "aten::_local_scalar_dense", tid),
                    self._launch("cudaStreamSynchronize", tid, 131),
                )
            )
        if op.kind == "event":
            return self._launch("cudaEventSynchronize", tid, 137)
        return self._slice("user_annotation", _LOADER, tid) if op.kind == "input" else ""

    def _communication(self, op: Op, tid: int) -> str:
        group = self.groups[op.group]
        if op.kind == "collective":
            name, stream = _RANGES[op.name], STREAMS[op.group]
            kernel = _KERNELS[op.name]
        else:
            name, stream = self._peer_name(op, group), STREAMS[f"{op.kind} {op.name}"]
            kernel = _KERNELS["all_to_all"]
        described = self._described(op, group)
        sequence = ',"Seq":%d' if self.shape.has_sequence and op.kind == "collective" else ""
        more = described + sequence
        return ",\n".join(
            (
                self._slice("cpu_op", "record_param_comms", tid, more),
                self._slice("user_annotation", name, tid),
                self._launch("cudaLaunchKernelExC", tid, 430),
                self._work(kernel, stream, more, 544),
            )
        )

    def _peer(self, op: Op) -> int:
        """Position of the other rank in the pipeline group."""
        own = int(self.job.topology.stage[self.rank])
        return own + (1 if (op.kind == "send") == (op.name == "forward") else -1)

    def _peer_name(self, op: Op, group: Group) -> str:
        own, peer = group.ranks.index(self.rank), self._peer(op)
        return f"nccl:send {own}->{peer}" if op.kind == "send" else f"nccl:recv {own}<-{peer}"

    def _described(self, op: Op, group: Group) -> str:
        size = len(group.ranks)
        factor = self.tokens / self.shape.tokens if op.scale == "tokens" else 1.0
        whole = int(op.size * factor) // BYTES or 1
        own = max(1, whole // size)
        element = "BFloat16"
        splits: tuple[str, str] = ("[]", "[]")
        inputs, outputs = str(whole), str(whole)
        if op.name == "all_gather":
            inputs = str(own)
        elif op.name == "reduce_scatter":
            outputs = str(own)
        elif op.name == "all_to_all":
            inputs, outputs, splits = "%d", "%d", ("%s", "%s")
        if op.size < BYTES * 4:
            element = "Float"
        names = [str(rank) for rank in group.ranks[:MAX_NAMED_RANKS]]
        names += ["..."] if size > MAX_NAMED_RANKS else []
        collective = _COLLECTIVES.get(op.name, "send" if op.kind == "send" else "recv")
        peers = ""
        if op.kind != "collective":
            other = group.ranks[self._peer(op)]
            source, target = (self.rank, other) if op.kind == "send" else (other, self.rank)
            peers = f',"Src Rank":{source},"Dst Rank":{target}'
        return (
            f',"Collective name":"{collective}","In msg nelems":{inputs},'
            f'"Out msg nelems":{outputs},"Group size":{size},"dtype":"{element}",'
            f'"In split size":"{splits[0]}",'
            f'"Out split size":"{splits[1]}","Process Group Name":"{group.name}",'
            f'"Process Group Description":"{group.description}",'
            f'"Process Group Ranks":"[{", ".join(names)}]"{peers}'
        )

    def _fill(self, record: Record, row: list[float]) -> str:
        op, template = record.op, self.templates[id(record.op)]
        start, end, launch, launched, begin, finish = row
        number = self.external
        outer = (start, max(end - start - HOST_GAP_US, 0.001), number)
        # What is launched belongs to the innermost operator.
        owner = number if op.kind == "kernel" else number + 1
        correlation = number + FIRST_CORRELATION
        call = (launch, launched - launch, owner, correlation)
        work = (begin, finish - begin, owner, correlation)
        if op.kind == "kernel":
            extra = (self._routed(record, self.rank),) if op.scale == "routed" else ()
            return template % (*outer, *extra, *call, *work)
        if op.kind in ("collective", "send", "receive"):
            described = self._exchange(record) if op.name == "all_to_all" else ()
            if self.shape.has_sequence and op.kind == "collective":
                self.sequence[op.group] += 1
                described = (*described, self.sequence[op.group])
            gap = (launch - start) / 2
            inner = (start + gap, end - start - 2 * gap, owner)
            return template % (*outer, *described, *inner, *call, *work, *described)
        if op.kind == "sync":
            inner = (start + 1, end - start - 2, owner)
            return template % (*outer, *inner, *call)
        if op.kind == "event":
            return template % call
        if op.kind == "input":
            return template % outer
        return self._pause(start, end) if end - start > 0.01 else ""

    def _pause(self, start: float, end: float) -> str:
        length = end - start
        if self.job.faults.pause == "gc":
            return self._frame("Python GC", self.external) % (start, length)
        texts = [
            self._slice("user_annotation", "save_checkpoint", self.pid)
            % (start, length, self.external)
        ]
        if self.shape.has_stack:
            frame = self._frame("train.py(141): save_checkpoint", self.external)
            texts.append(frame % (start + 1, length - 2))
            texts.append(self._frame(_SAVE, self.external + 1) % (start + 2, length - 4))
        return ",\n".join(texts)

    def _routed(self, record: Record, rank: int) -> int:
        """Tokens that the experts of a rank of the stage get."""
        key = int(self.stage.ranks[0]), record.step, record.op.routing
        share = float(self.job.routed[key][rank - self.stage.ranks[0]])
        return int(self.shape.tokens * CHOSEN_EXPERTS * share)

    def _exchange(self, record: Record) -> tuple[int, int, str, str]:
        """Elements in and out, and rows to and from each member."""
        ranks = self.groups[EXPERT].ranks
        own = self.job.faults.tokens[list(ranks)]
        sent = self.tokens * CHOSEN_EXPERTS
        to = [self._routed(record, rank) for rank in ranks]
        rows_in = [int(each * sent / (sum(to) or 1)) for each in to]
        rows_out = [int(self._routed(record, self.rank) * part) for part in own / own.sum()]
        if record.op.mark == "combine":
            rows_in, rows_out = rows_out, rows_in
        hidden = self.shape.hidden
        return sum(rows_in) * hidden, sum(rows_out) * hidden, str(rows_in), str(rows_out)


def _meta(name: str, ts: float, pid: int, tid: int, args: dict[str, str]) -> str:
    return json.dumps(
        {"ph": "M", "name": name, "ts": round(ts, 3), "pid": pid, "tid": tid, "args": args}
    )


def _quoted(name: str) -> str:
    """A name inside a JSON text inside a formatting text."""
    return json.dumps(name)[1:-1].replace("%", "%%")
