"""Frameworks that train: ``frameworks.py NAME SEED``."""

from __future__ import annotations

import logging
import sys
import tempfile
import warnings
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, DistributedSampler
from truth import Net, Rows, Truth, loss_of, say, seeded


def lightning(some: Random) -> None:
    """Two batches a step, validation in the middle of epochs."""
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    from lightning.pytorch import Callback, LightningModule, Trainer

    truth = Truth()

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: Tensor, _index: int) -> Tensor:
            return loss_of(self.net, batch)

        def validation_step(self, batch: Tensor, _index: int) -> None:
            loss_of(self.net, batch)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    class Watch(Callback):
        def on_train_batch_start(
            self, _trainer: Any, _module: Any, _batch: Any, index: int
        ) -> None:
            if index % 2 == 0:
                truth.begin()

        def on_before_optimizer_step(self, *_: Any) -> None:
            truth.closing()

    trainer = Trainer(
        accelerator="cpu",
        accumulate_grad_batches=2,
        callbacks=[Watch()],
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        logger=False,
        max_epochs=2,
        val_check_interval=0.5,
    )
    count = 16 * some.randint(8, 12)
    trainer.fit(Module(), DataLoader(Rows(count), 8), DataLoader(Rows(24), 8))
    say("steps", trainer.global_step)


def trainer(some: Random) -> None:
    """Hugging Face's Trainer with an evaluation and a checkpoint every few steps."""
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    truth = Truth()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def forward(self, rows: Tensor) -> dict[str, Tensor]:
            return {"loss": loss_of(self.net, rows)}

    class Watch(TrainerCallback):
        def on_step_begin(self, *_: Any, **_more: Any) -> None:
            truth.begin()

        def on_pre_optimizer_step(self, *_: Any, **_more: Any) -> None:
            truth.closing()

    class Named(Rows):
        def __getitem__(self, index: int) -> Any:
            return {"rows": super().__getitem__(index)}

    def collate(samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        return {"rows": torch.stack([each["rows"] for each in samples])}

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            disable_tqdm=True,
            eval_steps=5,
            eval_strategy="steps",
            num_train_epochs=2,
            per_device_train_batch_size=8,
            report_to=[],
            save_steps=7,
            use_cpu=True,
        )
        training = Trainer(
            Model(), arguments, collate, Named(8 * some.randint(8, 12)), Named(24),
            callbacks=[Watch()],
        )  # fmt: skip
        training.remove_callback(PrinterCallback)
        training.train()
    say("steps", training.state.global_step)


def accelerated(some: Random) -> None:
    """Accelerate accumulates two batches; its loader fetches one ahead."""
    from accelerate import Accelerator

    truth, accelerator = Truth(), Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = Net()
    net, optimizer, loader = accelerator.prepare(
        net, torch.optim.AdamW(net.parameters()), DataLoader(Rows(16 * some.randint(7, 11)), 8)
    )
    for _ in range(2):
        for number, rows in enumerate(loader):
            if number % 2 == 0:
                truth.begin()
            with accelerator.accumulate(net):
                accelerator.backward(loss_of(net, rows))
                if number % 2:
                    truth.closing()
                optimizer.step()
                optimizer.zero_grad()
    say("steps")


def ranks(some: Random) -> None:
    """A rank of DDP on gloo, with a loader worker."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    truth, rows = Truth(), Rows(16 * some.randint(12, 16))
    loader = DataLoader(rows, 8, sampler=DistributedSampler(rows), num_workers=1)
    net = nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    for batch in loader:
        truth.begin()
        loss_of(net, batch).backward()
        truth.closing()
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        say("ranks", dist.get_world_size())
    dist.destroy_process_group()


def timm(some: Random) -> None:
    """timm's model, optimizer, schedule and average, trained as its script does."""
    import timm as images
    from timm.optim import create_optimizer_v2
    from timm.scheduler import CosineLRScheduler
    from timm.utils import ModelEmaV3

    truth = Truth()
    net = images.create_model("test_resnet", num_classes=4, pretrained=False)
    optimizer = create_optimizer_v2(net, opt="adamw", lr=1e-3)
    schedule, average = CosineLRScheduler(optimizer, t_initial=2), ModelEmaV3(net)
    updates = some.randint(8, 11)
    for epoch in range(2):
        net.train()
        for _ in range(updates):
            pictures, classes = torch.randn(2, 3, 64, 64), torch.randint(4, (2,))
            truth.begin()
            with torch.autocast("cpu", torch.bfloat16):
                loss = nn.functional.cross_entropy(net(pictures), classes)
            loss.backward()
            truth.closing()
            optimizer.step()
            optimizer.zero_grad()
            average.update(net)
        schedule.step(epoch + 1)
        average.eval()
        with torch.inference_mode():
            say("average", average.module(torch.randn(2, 3, 64, 64)).shape)


PROGRAMS = {name: each for name, each in list(globals().items()) if callable(each)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](seeded(int(sys.argv[2])))
