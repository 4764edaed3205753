"""The roles of the ranks of a job of several programs: rollout and training, prefill and decode."""
