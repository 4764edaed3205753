"""How loaders and phases are called."""

from __future__ import annotations

from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading


def phase_word(phase: str) -> str:
    """A phase, for people."""
    return "training" if phase == TRAIN else "evaluation"


def loader_name(loading: Loading) -> str:
    """A loader with its dataset: ``"0 (ImageFolder)"``."""
    dataset = loading.settings.get("dataset")
    return f"{loading.loader} ({dataset})" if dataset else str(loading.loader)
