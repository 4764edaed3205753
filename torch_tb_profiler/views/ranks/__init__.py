"""The view ``ranks``."""
