"""Sequences of kernels that repeat: candidates for fusion."""
