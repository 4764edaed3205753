"""What many threads may use first at once, in a process that has used nothing yet.

A thread is interrupted after each microsecond, so that all are in the middle of the first use. Each
case is a process of its own, several times; twenty-five in all. Before the set-up was made safe,
one in three of those with rules crashed. ``bench/first_requests.py`` does that with whole servers.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

THREADS = 32
LIMIT_S = 120

PROCESS = """
import sys, threading
{prepare}
begin = threading.Barrier({threads})
answers = []
def use(number):
    begin.wait()
    answers.append({use})
threads = [threading.Thread(target=use, args=(number,)) for number in range({threads})]
sys.setswitchinterval(1e-6)
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.setswitchinterval(0.005)
print(len(answers), len({{repr(answer) for answer in answers}}))
"""

KNOWLEDGE = """
    from torch_tb_profiler.knowledge import (
        advice, communication, devices, dtypes, gpus, kernels, operators)
    questions = [
        lambda: kernels.classify("ampere_sgemm_128x64_nn"),
        lambda: operators.matching_rule("aten::mm").name,
        lambda: gpus.specification("NVIDIA H100 80GB HBM3").sm_count,
        lambda: communication.collective("all_reduce"),
        lambda: advice.entry("low_occupancy").title,
        lambda: dtypes.canonical("c10::Half"),
        lambda: devices.device_type_name(1),
    ]
    def answers_from(number):
        order = [(number + place) % len(questions) for place in range(len(questions))]
        return sorted((place, questions[place]()) for place in order)
"""
DECODERS = """
    import msgspec
    from torch_tb_profiler.importers.kineto import decode, structs
    from torch_tb_profiler.importers.kineto.event_kinds import ARGUMENT_DECODERS
    from torch_tb_profiler.trace.quality import QualityReport
    raws = [msgspec.Raw(b'{"External id": 1, "stream": 7, "name": "x"}')]
    def decoded(number):
        quality = QualityReport()
        decoders = ARGUMENT_DECODERS.values()
        return [decode.decode_args(decoder, raws, quality) for decoder in decoders]
"""
VIEWS = """
    from torch_tb_profiler.views.registry import VIEW_NAMES, view_named
    def views(number):
        order = [VIEW_NAMES[(number + place) % len(VIEW_NAMES)] for place in range(len(VIEW_NAMES))]
        return sorted((name, view_named(name).title) for name in order)
"""

STORED_VIEW = """
    from torch_tb_profiler.views.registry import view_named
    from torch_tb_profiler.views.schema import View
    from torch_tb_profiler.views.view_bytes import from_bytes, to_bytes
    spec = view_named("kernels")
    stored = to_bytes(View(), spec)
"""

PARSER = """
    from torch_tb_profiler.loading.opening.parsing import shared_parser
"""


@pytest.mark.parametrize(
    ("prepare", "use", "processes"),
    [
        pytest.param(KNOWLEDGE, "answers_from(number)", 6, id="knowledge"),
        pytest.param(KNOWLEDGE, "answers_from(0)", 4, id="knowledge in one order"),
        pytest.param(DECODERS, "decoded(number)", 4, id="decoders"),
        pytest.param(STORED_VIEW, "from_bytes(stored, spec, View)", 4, id="stored view"),
        pytest.param(PARSER, "shared_parser()", 2, id="parser"),
        pytest.param(VIEWS, "views(number)", 3, id="views"),
        pytest.param("import torch_tb_profiler", "torch_tb_profiler.open_trace", 2, id="API"),
    ],
)
def test_many_threads_use_it_first_at_once(prepare: str, use: str, processes: int) -> None:
    text = PROCESS.format(prepare=textwrap.dedent(prepare), use=use, threads=THREADS)
    for _ in range(processes):
        done = subprocess.run(
            [sys.executable, "-c", text],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, f"{THREADS} 1\n"), done.stderr
