"""Records one window twice, as Chrome JSON and as .pftrace, with PyTorch's own encoders.

Run: python samples/record/pftrace.py tests/data/pftrace
It needs torch >= 2.14 and the package cupti-python, which the encoder imports; no GPU. What a GPU
would have done is not in it: ../../tests/importers/pftrace writes such files itself.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.profiler._cupti.monitor_trace import merge_trace_window_into_chrome_trace

OUT = Path(sys.argv[1])
NO_WINDOW = {"columns": {}, "user_annotations": {}, "graph_deps": {}, "thread_resource_map": {}}
STEPS = 2


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True, profile_memory=True
    ) as profiler:
        for number in range(STEPS):
            with record_function(f"ProfilerStep#{number}"):
                loss = model(torch.randn(4, 8)).sum()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder) / "cpu.json"
        profiler.export_chrome_trace(str(recorded))
        trace = json.loads(recorded.read_text())
        trace.pop("host_name", None)
        recorded.write_text(json.dumps(trace))
        for name in ("cpu.pt.trace.json.gz", "cpu.pftrace.gz"):
            target = Path(folder) / name
            merge_trace_window_into_chrome_trace(str(recorded), str(target), NO_WINDOW)
            shutil.move(target, OUT / name)


if __name__ == "__main__":
    main()
