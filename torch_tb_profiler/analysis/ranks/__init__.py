"""The ranks of a job beside each other: measures of each, which is slow, why, and what it costs."""
