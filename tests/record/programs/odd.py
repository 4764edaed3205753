"""Cells of a notebook, run in a separate folder; ends with ``os._exit`` and code 3."""

from __future__ import annotations

import os
import sys

CELLS = (
    "import tiny, torch\nfrom truth import Truth\ntruth = Truth()",
    "net = tiny.Net()\nweights = list(net.parameters())",
    """
for step in range(16):
    batch = torch.randn(8, tiny.FEATURES)
    loss = tiny.loss_of(net, batch)
    truth.begin()
    for weight, grad in zip(weights, torch.autograd.grad(loss, weights)):
        weight.data -= 0.01 * grad
    truth.closing()
""",
    "truth.say('in ' + os.path.basename(os.getcwd()))\ntruth.save()\nos._exit(3)",
)

os.chdir(sys.argv[1])
names: dict[str, object] = {"__name__": "__main__", "os": os}
for number, cell in enumerate(CELLS):
    exec(compile(cell, f"<cell {number}>", "exec"), names)
