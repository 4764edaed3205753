"""The view ``data``: how data was loaded, and what waited for it."""
