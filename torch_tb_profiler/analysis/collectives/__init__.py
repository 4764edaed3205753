"""Collective operations: their metadata, and which belong together across ranks."""
