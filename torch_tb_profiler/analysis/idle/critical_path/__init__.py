"""The critical path of a step: the chain of work in which each piece waits for the one before."""
