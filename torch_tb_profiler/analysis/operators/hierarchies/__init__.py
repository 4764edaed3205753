"""Modules, user ranges and call stacks as one kind of tree, with the times of every node."""
