"""The view ``resources``."""
