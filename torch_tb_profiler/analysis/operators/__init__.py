"""Calls of operators: which there are, what each costs, and where they lie.

Identity, call stacks, modules, user ranges (``hierarchies``) and summaries by name live here; what
the kernels of operators do is in ``kernels``.
"""
