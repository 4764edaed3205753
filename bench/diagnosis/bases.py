"""Recordings that lose no time, as what causes are put into: real ones, and generated ones.

A real recording is mended first: its loader works in other processes, and its batches are as much
larger as it takes for the device to set the pace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

from bench.diagnosis import editing
from bench.diagnosis.devices import on_several_devices
from bench.diagnosis.model import Rank, Recording, Work
from bench.diagnosis.programs import GPUS, program, random_shape
from bench.diagnosis.reading import read
from bench.diagnosis.replay import replay

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
BUSY = 0.97
"""The device must work for this share of a mended recording."""
PRODUCTS = re.compile(r"gemm|conv|cutlass|Cijk|fmha|flash|winograd|nvjet|cudnn", re.IGNORECASE)
OCCUPANCY = frozenset({"blocks per SM", "warps per SM", "est. achieved occupancy %"})
PLAIN_GPU = {"name": "Tesla P100-PCIE-16GB", "computeMajor": 6, "computeMinor": 0}
"""A device without Tensor Cores, so that nothing is to be said on kernels that use none."""


@dataclass(frozen=True)
class Base:
    """What a cause is put into.

    Attributes:
        name: For people.
        recording: The recording, which loses no time.
    """

    name: str
    recording: Recording

    @property
    def is_on_device(self) -> bool:
        """Whether it has device work."""
        return self.recording[0].is_on_device


@dataclass(frozen=True)
class Source:
    """A real recording.

    Attributes:
        file: Its place below ``samples``.
        first: Its first step that is used, of those whole steps that are recorded.
        count: So many steps are used.
        repeat: So often what is used is repeated.
    """

    file: str
    first: int = 0
    count: int = 1
    repeat: int = 1


SOURCES = (
    Source("kineto_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz", 1, 3),
    Source("kineto_resnet50_nw0/worker0.1623143566756.pt.trace.json.gz", 2, 3),
    Source("h100_bert_small/rank0.pt.trace.json.gz", repeat=4),
    Source("mi300_bert_small/rank0.pt.trace.json.gz", repeat=4),
    Source("dlrm_8_ranks/worker2_step_12.1694128201554.pt.trace.json.gz", repeat=3),
)
HOST_SOURCES = (
    Source("cpu_resnet_full/worker0.1795226132075806134.pt.trace.json.gz", 0, 4),
    Source("cpu_slowloader_nw0/nw0.1795226096496597206.pt.trace.json.gz", 0, 4),
    Source("cpu_slowloader_nw2/nw2.1795226097847100830.pt.trace.json.gz", 1, 3),
)
FRAME_SOURCES = (SOURCES[2], SOURCES[3], HOST_SOURCES[0])


def real(source: Source, random: Random) -> Base:
    """A real recording, mended."""
    rank = _used(source)
    if rank.is_on_device:
        _let_device_set_the_pace(rank, random)
    return Base(Path(source.file).parent.name, [rank])


@cache
def _whole(file: str) -> Rank:
    return read(SAMPLES / file)


def _used(source: Source) -> Rank:
    [rank] = editing.copied([_whole(source.file)])
    editing.crop(rank, source.first, source.count)
    if source.repeat > 1:
        editing.repeated(rank, source.repeat)
    editing.shorten(rank, editing.LOADER, 60.0)
    gpus = rank.head["deviceProperties"][:1]
    rank.head["deviceProperties"] = [properties | PLAIN_GPU for properties in gpus]
    return rank


def _let_device_set_the_pace(rank: Rank, random: Random) -> None:
    """Lengthen kernels that compute until the device is hardly ever idle. How larger batches fill
    its processors is not known."""
    for work in rank.works:
        work.args = {key: value for key, value in work.args.items() if key not in OCCUPANCY}
    wanted = 1.0 - (1.0 - BUSY) * random.uniform(0.3, 1.0)
    for _ in range(60):
        if busy_share(rank) >= wanted:
            return
        editing.scale(rank, _growth)
    raise ValueError("the device of this recording can not set the pace")


def _growth(work: Work) -> float:
    """Wider layers: products grow faster than what passes over their results."""
    if not editing.is_kernel(work):
        return 1.0
    return 1.25 if PRODUCTS.search(work.name) else 1.1


def busy_share(rank: Rank) -> float:
    """The share of the recording in which the device works."""
    [times] = replay([rank])
    busy, until = 0.0, 0.0
    for start, end in sorted(times.works.values()):
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return busy / times.end


def generated(random: Random, ranks: int = 1) -> Base:
    """A generated program."""
    shape = random_shape(random, ranks)
    return Base(f"program of {ranks} ranks" if ranks > 1 else "program", program(shape, random))


def with_frames(random: Random) -> Base:
    """A recording with Python functions."""
    if random.random() < 0.5:
        shape = replace(random_shape(random), has_frames=True)
        return Base("program", program(shape, random))
    return real(random.choice(FRAME_SOURCES), random)


def with_matrix_units(random: Random) -> Base:
    """A generated program whose products run on matrix units."""
    gpu = random.choice([each for each in GPUS if each.capability >= (7, 0)])
    return Base("program", program(replace(random_shape(random), gpu=gpu), random))


def on_devices(random: Random) -> Base:
    """A generated program of one process that divides its work over 2 to 4 devices evenly."""
    count = random.randint(2, 4)
    recording = program(random_shape(random), random)
    return Base(f"program on {count} devices", on_several_devices(recording, count))
