"""Child processes that parse: started, fed, measured and ended."""
