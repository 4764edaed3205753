"""Where a part of one recording may lie in another: offsets at which equal names coincide.

Both are signals over time in which each kernel is a unit vector whose direction is that of its
name. Their cross-correlation sums up over kernels of the same name and cancels out over others, so
its peaks are the offsets at which most kernels coincide. One Fourier transform finds them without
comparing each kernel with each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

Complex128 = npt.NDArray[np.complex128]

MIN_BIN_NS = 20_000
MAX_BINS = 1 << 20
MAX_PEAKS = 5


def candidate_offsets(
    code: Int64, time_ns: Int64, part_code: Int64, part_time_ns: Int64
) -> tuple[list[int], int]:
    """Offsets of a part against a whole.

    Args:
        code: Name code per kernel of the whole.
        time_ns: Their starts, ascending.
        part_code: Name code per kernel of the part.
        part_time_ns: Their starts, ascending, on another clock.

    Returns:
        What to add to times of the part, most coinciding kernels first, within the second value in
        either direction.
    """
    span = int(time_ns[-1] - time_ns[0])
    part_span = int(part_time_ns[-1] - part_time_ns[0])
    bin_ns = max(MIN_BIN_NS, -(-(span + part_span) // MAX_BINS))
    bins = 1 << ((span + 2 * part_span) // bin_ns + 2).bit_length()
    directions = _directions(int(max(code.max(), part_code.max())) + 1)
    whole = _signal(directions[code], (time_ns - time_ns[0]) // bin_ns, bins)
    part = _signal(directions[part_code], (part_time_ns - part_time_ns[0]) // bin_ns, bins)
    together = np.fft.ifft(np.fft.fft(whole) * np.conj(np.fft.fft(part)))
    # A kernel may fall into either of two neighbouring bins.
    height = np.real(together + np.roll(together, -1))
    offsets = []
    for _ in range(MAX_PEAKS):
        peak = int(np.argmax(height))
        lag = peak if peak <= span // bin_ns + 1 else peak - bins
        offsets.append(int(time_ns[0] - part_time_ns[0]) + lag * bin_ns + bin_ns // 2)
        height[np.arange(peak - 1, peak + 2) % bins] = -np.inf
    return offsets, 2 * bin_ns


def _directions(count: int) -> Complex128:
    """Unit vectors that are far from each other on average, the same at every call."""
    golden = (5**0.5 - 1) / 2
    vectors: Complex128 = np.exp(2j * np.pi * ((np.arange(count) ** 2 * golden) % 1))
    return vectors


def _signal(vectors: Complex128, position: Int64, bins: int) -> Complex128:
    real, imaginary = (np.bincount(position, each, bins) for each in (vectors.real, vectors.imag))
    signal: Complex128 = real + 1j * imaginary
    return signal
