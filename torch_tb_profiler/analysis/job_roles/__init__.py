"""The roles of the ranks of a job with several programs: rollout and training, prefill and decode."""
