"""The page of diagnoses has the current findings of every recording."""

from __future__ import annotations

from pathlib import Path

from tools.diagnoses import PAGE, ROW, current, recordings

VERDICTS = {"agrees", "partly", "wrong"}


def test_the_page_has_the_findings_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert current(text) == text


def test_every_recording_has_a_diagnosis_and_a_verdict() -> None:
    rows = [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    assert len(rows) > 50
    assert {verdict.split(":")[0] for *_, verdict in rows} <= VERDICTS
    assert len({name for name, *_ in rows}) == len(rows)


def test_every_sample_is_in_the_page(samples: Path) -> None:
    assert set(samples.glob("*/*.gz")) <= set(recordings().values())


def test_every_trace_of_the_corpus_is_in_the_page(corpus: Path) -> None:
    """Except those that are samples too, under other names, and copies of one recording."""
    twins = ("h100_bert_small", "mi300_bert_small", "torch_compile_triton")
    paths = {
        path.relative_to(corpus)
        for pattern in ("*/*.trace.json.gz", "*/*/*.trace.json.gz", "*/*trace.json.gz")
        for path in corpus.glob(pattern)
        if path.parent.name not in twins
    }
    assert {str(path) for path in paths} <= set(recordings())
