"""Detectors: one file each; measured value, threshold, evidence, what to do."""
