"""Ends before it uses torch: a dependency is missing."""

from __future__ import annotations

import torch

print(torch.zeros(2).tolist())
import nothing_of_that_name  # type: ignore[import-not-found]  # noqa: E402, F401
