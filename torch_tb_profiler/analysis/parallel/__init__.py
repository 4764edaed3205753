"""How a job is divided: the dimension of each process group, the coordinates of ranks, pipelines."""
