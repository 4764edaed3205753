"""CUDA and HIP graphs: their launches, the work of each, and the attribution of every node."""
