"""Filling the cache with the ranks of a run, on any executor."""
