"""How a job is divided: dimensions of process groups, coordinates of ranks, pipelines."""
