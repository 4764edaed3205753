"""The view ``hang``: who holds whom up in a job that hangs, from flight-recorder dumps."""
