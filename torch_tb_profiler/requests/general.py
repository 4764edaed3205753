"""Answers of all faces and all routes: who is speaking, and what went wrong."""

from __future__ import annotations

from typing import Literal

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.errors import Problem

Face = Literal["tensorboard", "standalone"]


class ErrorAnswer(Answer, kw_only=True):
    """The answer beside every status code from 400 on."""

    error: Problem


class AboutAnswer(Answer, kw_only=True):
    """``/about``: who is speaking.

    Attributes:
        decoder: Which decoder reads Kineto JSON here, in a sentence.
    """

    version: str
    decoder: str
    logdir: str
    face: Face
