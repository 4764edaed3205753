"""Code compiled by ``torch.compile``: its regions, its kernels, and the compilations."""
