"""Lightning: two epochs, each with validation, and the sanity check before training."""

from __future__ import annotations

from typing import Any

import tiny
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torch.utils.data import DataLoader
from truth import Truth


class Sum(LightningModule):
    """Learns the sum of a row."""

    def __init__(self) -> None:
        super().__init__()
        self.net = tiny.Net()

    def training_step(self, batch: Tensor, _index: int) -> Tensor:
        return tiny.loss_of(self.net, batch)

    def validation_step(self, batch: Tensor, _index: int) -> None:
        tiny.loss_of(self.net, batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


class ProgressCallback(Callback):
    """Records the truth."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth

    def on_train_batch_start(self, _trainer: Any, _module: Any, batch: Tensor, _index: int) -> None:
        self.truth.begin(len(batch))

    def on_before_optimizer_step(self, *_: Any) -> None:
        self.truth.closing()

    def on_validation_batch_start(
        self, _trainer: Any, _module: Any, batch: Tensor, *_indices: int
    ) -> None:
        self.truth.begin(len(batch), "evaluation")
        self.truth.closing()


def main() -> None:
    """Train."""
    truth = Truth()
    trainer = Trainer(
        accelerator="cpu",
        callbacks=[ProgressCallback(truth)],
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        logger=False,
        max_epochs=2,
    )
    trainer.fit(
        Sum(), DataLoader(tiny.Rows(64), batch_size=8), DataLoader(tiny.Rows(24), batch_size=8)
    )
    truth.say(f"{trainer.global_step} steps")


if __name__ == "__main__":
    main()
