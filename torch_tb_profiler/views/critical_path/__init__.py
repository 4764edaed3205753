"""The view of the critical path."""
