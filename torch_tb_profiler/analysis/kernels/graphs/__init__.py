"""CUDA and HIP graphs: their launches, what each ran, and what is known of every node."""
