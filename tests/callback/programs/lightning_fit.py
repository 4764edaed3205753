"""A training of Lightning with several loggers: ``lightning_fit.py FOLDER``. Writes what its
callback has afterwards into ``FOLDER/callback.json``."""

from __future__ import annotations

import json
import pickle
import sys
from importlib.util import find_spec
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.pytorch import loggers
from window_report import WindowReport

import torch_tb_profiler


class Model(pl.LightningModule):
    """A linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def training_step(self, batch, _index):
        return self.net(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Failing(loggers.CSVLogger):
    """A logger that fails at metrics of the profiler."""

    def log_metrics(self, metrics, step=None):  # noqa: ARG002 - the signature is Lightning's
        raise RuntimeError("disk full at https://user:secret@host/x")


class Waiting(pl.Callback):
    """Waits for the verdict on the window."""

    def __init__(self, report: WindowReport) -> None:
        self.report = report

    def on_train_batch_end(self, trainer, *_):
        self.report.step_ended(trainer.global_step)


class OtherRank:
    """A trainer of another rank than the first."""

    is_global_zero = False
    loggers = ()


def reports_of_another_rank(folder: Path) -> int:
    """How often a callback reports at the end of a fit on another rank."""
    callback, reports = torch_tb_profiler.ProfilerCallback(folder), []
    callback._report = lambda *logs: reports.append(logs)
    callback._follow_windows = reports.append
    callback._steps = torch_tb_profiler.recorder.steps.explicit_steps.ExplicitSteps()
    OtherRank.global_step = callback._optimizer_steps
    callback.on_train_batch_end(OtherRank, None, None, None, 0)
    callback.on_fit_end(OtherRank, None)
    return len(reports)


def main(folder: Path) -> None:
    used = [
        Failing(folder, name="failing"),
        loggers.CSVLogger(folder, name="csv"),
        loggers.TensorBoardLogger(folder, name="tb"),
    ]
    if find_spec("wandb"):
        used.append(loggers.WandbLogger(project="fit", save_dir=folder, offline=True))
    callback = torch_tb_profiler.ProfilerCallback(folder / "run", steps=(5, 7))
    report = WindowReport(callback)
    trainer = pl.Trainer(
        accelerator="cpu",
        callbacks=[callback, Waiting(report)],
        default_root_dir=folder,
        devices=1,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        logger=used,
        max_epochs=1,
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.zeros(80, 4), batch_size=4))
    copy = pickle.loads(pickle.dumps(callback))
    kinds = (pl.Callback, torch_tb_profiler.ProfilerCallback)
    result = {
        "is_callback": [isinstance(each, kind) for each in (callback, copy) for kind in kinds],
        "options": copy._arguments[1],
        "reports_of_another_rank": reports_of_another_rank(folder / "other"),
        "analyzed_after_steps": report.steps,
        "had_analysis": report.had_analysis,
        "verdict": callback.verdict.sentence,
    }
    try:
        torch_tb_profiler.ProfilerCallback(folder, steps=(5, 2))
    except ValueError as error:
        result["error"] = str(error)
    (folder / "callback.json").write_text(json.dumps(result))


main(Path(sys.argv[1]))
