"""A view as JSON: what ``/view/<name>`` answers, ``report`` prints and the Python API gives."""

from __future__ import annotations

from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.views import ViewResult, view_answer


def dumps(result: ViewResult) -> bytes:
    """The answer as compact UTF-8 JSON without a line end."""
    return encode(view_answer(result))
