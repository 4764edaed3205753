"""The critical path of a step: the chain of work, each waiting for the one before, that it is."""
