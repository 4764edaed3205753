"""What ``torch.compile`` made: its regions, its kernels, and when it compiled."""
