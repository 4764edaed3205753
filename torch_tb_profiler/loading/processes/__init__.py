"""Worker processes on this machine: start, feed, measure and end them; cores and memory available.

Everything here is independent of traces; what is computed in a worker is passed in as a function.
"""
