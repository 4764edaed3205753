"""The view of idle time."""
