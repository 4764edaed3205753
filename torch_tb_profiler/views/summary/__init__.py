"""The view ``summary``."""
