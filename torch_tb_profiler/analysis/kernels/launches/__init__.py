"""How work comes from the host to its stream: queues, delays, and what a launch costs."""
