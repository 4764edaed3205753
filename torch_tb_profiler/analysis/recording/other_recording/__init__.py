"""Another recording of the same process: its clock, its kernels, and what it adds to a trace."""
