"""The open traces of a server: who asked for them, what they take, which go."""
