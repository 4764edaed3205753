"""Fixtures every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def samples() -> Path:
    """The sample traces that belong to the repository."""
    return ROOT / "samples"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The larger corpus that stands beside a developer's checkout; skips where it is absent."""
    folder = ROOT.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("needs the shared corpus beside the checkout")
    return folder
