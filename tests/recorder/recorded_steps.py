"""Reads the steps of a finished recording from its journal."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl

COLUMNS = ("step", "start_ns", "end_ns", "reader_ns", "samples")


def steps_of(folder: Path, phase: str) -> pl.DataFrame:
    """The steps of a phase in order of time; with ``"end"`` the end block."""
    (path,) = folder.glob("*.record.jsonl.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    blocks = [json.loads(line) for line in lines]
    if phase == "end":
        return pl.DataFrame([block for block in blocks if block["kind"] == "end"])
    frames = [
        pl.DataFrame({name: block[name] for name in COLUMNS}).with_columns(by=pl.lit(block["by"]))
        for block in blocks
        if block["kind"] == "steps" and block["phase"] == phase
    ]
    return pl.concat(frames).sort("start_ns")
