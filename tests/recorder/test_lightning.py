"""The Lightning callback on a toy training: steps, evaluation and samples compared with the truth.

Cases: accumulated gradients, validation between epochs and before training; an exception; pickling
for spawned processes; Lightning not installed.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.recorder.recorded_steps import steps_of
from torch_tb_profiler import LightningRecorder

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="module")
def _lightning() -> None:
    """Imported by the process that runs these tests, not by all that collect them."""
    pytest.importorskip("lightning.pytorch")


def toy(fails_in: int | None = None) -> Any:
    """A model that fails in a batch on request."""
    import lightning.pytorch as pl  # noqa: PLC0415 - see above

    class Toy(pl.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Linear(4, 1)
            self.batches: list[tuple[str, int]] = []

        def training_step(self, batch: Any, index: int) -> Any:
            self.batches.append(("train", len(batch)))
            if index == fails_in:
                raise ValueError("enough")
            return self.net(batch).square().mean()

        def validation_step(self, batch: Any, _index: int) -> None:
            self.batches.append(("evaluation", len(batch)))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    return Toy()


def fit(folder: Path, model: Any, accumulate: int = 1) -> Any:
    import lightning.pytorch as pl  # noqa: PLC0415 - see above

    recorder = LightningRecorder(folder, timer_only=True, sample_every_ms=0)
    trainer = pl.Trainer(
        accelerator="cpu",
        accumulate_grad_batches=accumulate,
        callbacks=[recorder],
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        logger=False,
        max_epochs=2,
    )
    rows = torch.utils.data.DataLoader(torch.zeros(46, 4), batch_size=4)
    validation = torch.utils.data.DataLoader(torch.zeros(6, 4), batch_size=2)
    trainer.fit(model, rows, validation)
    return recorder


def test_steps_of_a_fit(tmp_path: Path) -> None:
    import lightning.pytorch as pl  # noqa: PLC0415 - see above

    model = toy()
    recorder = fit(tmp_path, model, accumulate=2)
    assert isinstance(recorder, (pl.Callback, LightningRecorder))
    train = steps_of(tmp_path, "train")
    # Twelve batches of an epoch, the last of two samples: six steps, twice.
    assert train["samples"].to_list() == [8, 8, 8, 8, 8, 6] * 2
    assert set(train["by"]) == {"program"}
    # Two before training, three after each epoch.
    assert steps_of(tmp_path, "evaluation")["samples"].to_list() == [2] * 8
    assert sum(size for phase, size in model.batches if phase == "train") == train["samples"].sum()
    assert recorder.recording is not None
    assert "12 steps, 8 evaluation steps" in recorder.recording.summary()


def test_an_exception_ends_the_recording(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="enough"):
        fit(tmp_path, toy(fails_in=5))
    assert steps_of(tmp_path, "train").height == 5
    assert steps_of(tmp_path, "end")["reason"].to_list() == ["exception ValueError"]


def test_a_pickled_callback_is_recreated(tmp_path: Path) -> None:
    import lightning.pytorch as pl  # noqa: PLC0415 - see above

    created = LightningRecorder(tmp_path, steps=(2, 3))
    copy = pickle.loads(pickle.dumps(created))
    assert isinstance(copy, pl.Callback)
    assert copy._arguments == created._arguments


def test_invalid_options_raise_immediately(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="steps"):
        LightningRecorder(tmp_path, steps=(5, 2))


def test_lightning_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = sys.modules["torch_tb_profiler.recorder.lightning"]
    monkeypatch.setattr(module, "PACKAGES", ("no_such_lightning",))
    monkeypatch.setattr(module, "_subclasses", {})
    with pytest.raises(ImportError, match="not installed"):
        LightningRecorder(tmp_path)
