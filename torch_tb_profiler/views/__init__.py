"""Views: pure functions of a trace and a selection; one file per view."""
