"""The version, read by the build and printed by ``--version``."""

__version__ = "1.1.0"
