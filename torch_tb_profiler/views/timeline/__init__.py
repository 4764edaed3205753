"""The timeline: what one screen can show of a trace, at a cost of pixels and not of events."""
