"""The view ``iterations``."""
