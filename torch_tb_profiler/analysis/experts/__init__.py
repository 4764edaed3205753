"""Mixture of experts: tokens and time of experts, their balance, dispatch and combine.

``marks`` says which host ranges and operators are about experts, ``items`` which device work and
collectives, ``passes`` divides these into passes through a layer of experts, ``tokens`` reads how
many tokens a pass computes, and ``facts`` sums them up for one rank. ``balance`` compares ranks.
"""
