"""The view ``compare``: a baseline and a candidate."""
