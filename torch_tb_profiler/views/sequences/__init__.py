"""The view of sequences of kernels."""
