"""Summaries of what was called: types of events, operators, ranges, copies and memsets."""
