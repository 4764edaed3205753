"""Hugging Face Trainer: two batches a step, and an evaluation at the end of each epoch."""

from __future__ import annotations

import tempfile
from typing import Any

import tiny
import torch
from torch import Tensor, nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from truth import Truth


class Sum(nn.Module):
    """Learns the sum of a row."""

    def __init__(self) -> None:
        super().__init__()
        self.net = tiny.Net()

    def forward(self, rows: Tensor) -> dict[str, Tensor]:
        """Its loss."""
        return {"loss": tiny.loss_of(self.net, rows)}


class ProgressCallback(TrainerCallback):
    """Records the truth."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth

    def on_step_begin(self, *_: Any, **_more: Any) -> None:
        self.truth.begin()

    def on_pre_optimizer_step(self, *_: Any, **_more: Any) -> None:
        self.truth.closing()

    def on_prediction_step(self, *_: Any, **_more: Any) -> None:
        self.truth.count(8, "evaluation")  # batches are fetched one ahead


class Named(tiny.Rows):
    """Rows in the format of the Trainer."""

    def __getitem__(self, index: int) -> Any:
        return {"rows": super().__getitem__(index)}


def collate(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """A batch."""
    return {"rows": torch.stack([row["rows"] for row in rows])}


def main() -> None:
    """Train."""
    truth = Truth()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            Sum(),
            TrainingArguments(
                folder,
                disable_tqdm=True,
                eval_strategy="epoch",
                gradient_accumulation_steps=2,
                num_train_epochs=2,
                per_device_train_batch_size=8,
                report_to=[],
                save_strategy="no",
                use_cpu=True,
            ),
            train_dataset=Named(128),
            eval_dataset=Named(32),
            data_collator=collate,
            callbacks=[ProgressCallback(truth)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    truth.say(f"{trainer.state.global_step} steps")


if __name__ == "__main__":
    main()
