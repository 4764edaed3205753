"""The view ``experts``."""
