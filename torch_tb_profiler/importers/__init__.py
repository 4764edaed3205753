"""Input formats: one module or package per format; bytes in, event columns out."""
