"""The view ``groups``."""
