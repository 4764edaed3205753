"""The view of copies."""
