"""Roles: who works and who waits in a job of several roles (rollout and training, prefill and
decode)."""
