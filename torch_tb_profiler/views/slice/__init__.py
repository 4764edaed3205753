"""One slice of a trace, with everything known about it."""
