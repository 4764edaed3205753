"""A training of Hugging Face's ``Trainer`` that reports to TensorBoard and, where it is installed,
MLflow: ``trainer.py FOLDER``. Writes what its callback has afterwards into
``FOLDER/callback.json``."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import torch
import transformers
from transformers import Trainer, TrainerCallback
from window_report import WindowReport

import torch_tb_profiler


class Rows(torch.utils.data.Dataset):
    """Sentences of three tokens."""

    def __len__(self) -> int:
        return 48

    def __getitem__(self, index):
        return {"input_ids": torch.tensor([1, 2, 3]), "labels": torch.tensor(0)}


class Waiting(TrainerCallback):
    """Waits for the verdict on the window."""

    def __init__(self, report: WindowReport) -> None:
        self.report = report

    def on_step_end(self, _args, state, _control, **_):
        self.report.step_ended(state.global_step)


def main(folder: Path) -> None:
    config = transformers.BertConfig(
        hidden_size=8,
        intermediate_size=8,
        max_position_embeddings=8,
        num_attention_heads=1,
        num_hidden_layers=1,
        vocab_size=8,
    )
    arguments = transformers.TrainingArguments(
        str(folder / "out"),
        disable_tqdm=True,
        num_train_epochs=1,
        per_device_train_batch_size=4,
        report_to=["tensorboard", *filter(find_spec, ["mlflow"])],
        save_strategy="no",
        use_cpu=True,
    )
    callback = torch_tb_profiler.ProfilerCallback(folder / "run", steps=(5, 7))
    report = WindowReport(callback)
    trainer = Trainer(
        transformers.BertForSequenceClassification(config),
        arguments,
        train_dataset=Rows(),
        callbacks=[callback, Waiting(report)],
    )
    trainer.train()
    result = {
        "analyzed_after_steps": report.steps,
        "had_analysis": report.had_analysis,
        "verdict": callback.verdict.sentence,
    }
    (folder / "callback.json").write_text(json.dumps(result))


main(Path(sys.argv[1]))
