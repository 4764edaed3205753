"""Kernels that follow each other again and again: what could be fused."""
