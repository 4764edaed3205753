"""Networks of plain ``torch.nn`` for tests."""

from __future__ import annotations

from typing import Any


def bottleneck_network(blocks: list[int], classes: int = 10) -> Any:
    """A residual network of bottleneck blocks: ``[3, 4, 6, 3]`` is ResNet-50."""
    from torch import nn  # noqa: PLC0415 - not everywhere

    class Bottleneck(nn.Module):  # type: ignore[misc]
        """1×1, 3×3 and 1×1 convolutions beside a shortcut."""

        def __init__(self, channels: int, width: int, stride: int) -> None:
            super().__init__()
            out = 4 * width
            self.inside = nn.Sequential(
                nn.Conv2d(channels, width, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, out, 1, bias=False),
                nn.BatchNorm2d(out),
            )
            self.shortcut = nn.Sequential()
            if stride != 1 or channels != out:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
                )

        def forward(self, inputs: Any) -> Any:
            return nn.functional.relu(self.inside(inputs) + self.shortcut(inputs))

    layers: list[Any] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for stage, count in enumerate(blocks):
        for block in range(count):
            width = 64 << stage
            layers.append(Bottleneck(channels, width, 2 if stage and not block else 1))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return nn.Sequential(*layers).eval()  # one image has no statistics of its own
