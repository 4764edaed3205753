"""The view ``operators``."""
