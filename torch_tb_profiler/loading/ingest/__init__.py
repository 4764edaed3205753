"""Fill the cache with the traces and summaries of many files, on this machine or any executor.

``job`` is the work on one file, ``run`` distributes it, ``dask`` provides a cluster's executor, and
``summaries`` defines the small trace that views of a whole run need. What only serves opening one
file belongs to ``opening``.
"""
