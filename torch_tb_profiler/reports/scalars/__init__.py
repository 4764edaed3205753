"""Measures of steps as scalars of TensorBoard, beside the loss: what is written, and the files."""
