"""Questions as typed values and answers as declared shapes, free of HTTP: one room for all faces."""
