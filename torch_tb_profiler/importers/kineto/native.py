"""The compiled decoder, if it is installed: a library of four C functions (``native/src/edge.rs``).

It is optional. Without it, or with ``TORCH_TB_PROFILER_NATIVE=0``, everything is read by the
decoder in Python, with equal columns and two to four times the time.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from torch_tb_profiler.once import once

VERSION = 2
"""Of the interface: ``VERSION`` in ``native/src/edge.rs``."""

SWITCH = "TORCH_TB_PROFILER_NATIVE"
"""Environment variable; 0 leaves the compiled decoder unused."""

LIBRARY_FOLDER = Path(__file__).resolve().parent / "compiled"
"""Holds nothing but the library: it is no module, and in a package Python would take it for one."""

LIBRARY_NAMES = "decoder*"
"""The library's, whose ending depends on the system."""


class NativeDecoder:
    """The functions of the library; thread-safe. No call holds the interpreter's lock."""

    def __init__(self, path: Path) -> None:
        """Load the library.

        Raises:
            OSError: it is none, or of another version.
        """
        library = ctypes.CDLL(str(path))
        try:
            version = library.ttp_version()
            self._decode = library.ttp_decode
            self._size = library.ttp_size
            self._take = library.ttp_take
        except AttributeError as error:
            raise OSError(f"{path} is not the compiled decoder: {error}") from error
        if version != VERSION:
            raise OSError(f"{path} has version {version}, this package needs {VERSION}.")
        self._decode.restype = ctypes.c_void_p
        self._decode.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
        self._size.restype = ctypes.c_size_t
        self._size.argtypes = [ctypes.c_void_p]
        self._take.restype = None
        self._take.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def decode(self, text: bytes, plan: bytes) -> bytearray:
        """The answer to a piece: the block of ``native/src/output.rs``."""
        block = self._decode(text, len(text), plan, len(plan))
        answer = bytearray(self._size(block))
        self._take(block, (ctypes.c_char * len(answer)).from_buffer(answer))
        return answer


class NativeStatus:
    """Whether the compiled decoder is used, and why not.

    Attributes:
        decoder: The decoder; None if it is not used.
        description: The same in a sentence, for people.
    """

    def __init__(self) -> None:
        self.decoder: NativeDecoder | None = None
        reason = self._load()
        self.description = (
            "Kineto JSON is read by the compiled decoder."
            if reason is None
            else f"Kineto JSON is read by the decoder in Python, at a third of the speed: {reason}."
        )

    def _load(self) -> str | None:
        """Load the decoder; return why there is none."""
        if os.environ.get(SWITCH) == "0":
            return f"{SWITCH}=0 is set"
        paths = list(LIBRARY_FOLDER.glob(LIBRARY_NAMES))
        if not paths:
            return "this package was installed without the compiled one"
        try:
            self.decoder = NativeDecoder(max(paths, key=os.path.getmtime))
        except OSError as error:
            return f"the compiled one cannot be loaded ({error})"
        return None


@once
def native_status() -> NativeStatus:
    """Whether this process uses the compiled decoder."""
    return NativeStatus()
