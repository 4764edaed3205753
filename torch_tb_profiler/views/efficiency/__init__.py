"""The view ``efficiency``."""
