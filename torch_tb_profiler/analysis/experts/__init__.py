"""Mixture of experts: tokens and time of experts, their balance, dispatch and combine."""
