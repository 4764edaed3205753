"""The phases of steps: loading data, forward, backward, optimizer; and what is made of them."""
