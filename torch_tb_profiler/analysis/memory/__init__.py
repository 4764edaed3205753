"""Allocations and releases: who made them, and which belong together."""
