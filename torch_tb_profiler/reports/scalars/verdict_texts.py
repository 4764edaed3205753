"""The texts of a verdict, logged to a run that was begun. Imported within trainings: no polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERDICT = "profiler/verdict"
"""Name of the text that is the sentence of the verdict."""


def log_to_mlflow(client: Any, run_id: str, texts: Mapping[str, str]) -> None:
    """Set the texts as tags of a run.

    Args:
        client: An ``MlflowClient``.
        run_id: Of the run.
        texts: Name → text.
    """
    from mlflow.entities import RunTag  # noqa: PLC0415 - not everybody has it

    client.log_batch(run_id, tags=[RunTag(*each) for each in texts.items()])


def log_to_wandb(run: Any, texts: Mapping[str, str]) -> None:
    """Write the texts into the summary of a run of Weights & Biases."""
    run.summary.update(dict(texts))
