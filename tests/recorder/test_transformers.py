"""The callback of Hugging Face's ``Trainer`` on a tiny model: steps and samples compared with the
truth.

Cases: accumulated gradients, evaluation in between; an exception; a second training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.recorder.recorded_steps import steps_of

torch = pytest.importorskip("torch")

CONFIG = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}


class Rows(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    """Sentences of three tokens; reading the one at ``fails_at`` fails."""

    def __init__(self, size: int, fails_at: int | None = None) -> None:
        self.size, self.fails_at = size, fails_at

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.fails_at:
            raise ValueError("enough")
        return {"input_ids": torch.tensor([1, 2, 3]), "labels": torch.tensor(0)}


@pytest.fixture(autouse=True, scope="module")
def _transformers() -> None:
    """Imported by the process that runs these tests, not by all that collect them."""
    pytest.importorskip("transformers")


def trainer(folder: Path, rows: Rows) -> tuple[Any, Any]:
    import transformers  # noqa: PLC0415 - see above

    from torch_tb_profiler import TransformersRecorder  # noqa: PLC0415 - needs transformers

    config = transformers.BertConfig(
        **CONFIG, vocab_size=8, intermediate_size=8, max_position_embeddings=8
    )
    recorder = TransformersRecorder(folder / "run", timer_only=True, sample_every_ms=0)
    arguments = transformers.TrainingArguments(
        str(folder / "out"),
        disable_tqdm=True,
        eval_steps=4,
        eval_strategy="steps",
        gradient_accumulation_steps=2,
        logging_strategy="no",
        num_train_epochs=2,
        per_device_eval_batch_size=2,
        per_device_train_batch_size=4,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
    )
    created = transformers.Trainer(
        transformers.BertForSequenceClassification(config),
        arguments,
        train_dataset=rows,
        eval_dataset=Rows(6),
        callbacks=[recorder],
    )
    return created, recorder


def test_steps_of_a_trainer(tmp_path: Path) -> None:
    created, recorder = trainer(tmp_path, Rows(46))
    created.train()
    train = steps_of(tmp_path / "run", "train")
    # Six steps an epoch; one batch of the next step comes in the step before.
    assert train["samples"].to_list() == [12, 8, 8, 8, 8, 2] * 2
    assert set(train["by"]) == {"program"}
    assert steps_of(tmp_path / "run", "evaluation").height == 9
    assert recorder.recording is not None
    assert "12 steps, 9 evaluation steps" in recorder.recording.summary()


def test_a_caught_exception(tmp_path: Path) -> None:
    created, recorder = trainer(tmp_path, Rows(46, fails_at=44))
    created.args.train_sampling_strategy = "sequential"
    with pytest.raises(ValueError, match="enough") as caught:
        created.train()
    recorder.stop(caught.value)
    assert steps_of(tmp_path / "run", "end")["reason"].to_list() == ["exception ValueError"]
    assert steps_of(tmp_path / "run", "train").height < 12
