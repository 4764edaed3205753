"""Launches: from the host to the stream; queues, delays, and the cost of a launch call."""
