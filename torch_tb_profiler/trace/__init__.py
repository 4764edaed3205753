"""The trace model: event columns, nesting, links, steps, and the tables views read."""
