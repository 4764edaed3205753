"""The view ``snapshot``."""
