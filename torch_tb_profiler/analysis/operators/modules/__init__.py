"""The module tree of a trace, and what was spent in it."""
