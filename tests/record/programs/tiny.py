"""The model trained by the programs of these tests: two layers on random numbers, one thread."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

torch.set_num_threads(1)
torch.manual_seed(0)

FEATURES = 16


class Net(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: Tensor) -> Tensor:
        """One number per row."""
        out: Tensor = self.layers(x)
        return out


class Rows(Dataset[Tensor]):
    """Rows of random numbers."""

    def __init__(self, count: int) -> None:
        self._rows = torch.randn(count, FEATURES)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Tensor:
        return self._rows[index]


def loss_of(net: nn.Module, batch: Tensor) -> Tensor:
    """Error of the net against the sum of each row."""
    return nn.functional.mse_loss(net(batch).squeeze(1), batch.sum(1))
