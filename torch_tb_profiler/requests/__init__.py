"""Questions as typed values, answers as declared shapes: one room for all faces, without HTTP."""
