"""The view ``operator_types``."""
