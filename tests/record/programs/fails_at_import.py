"""Ends before it does anything with torch: what it needs is not there."""

from __future__ import annotations

import torch

print(torch.zeros(2).tolist())
import nothing_of_that_name  # type: ignore[import-not-found]  # noqa: E402, F401
