"""SQL over the tables of all views and the raw tables of the traces.

``tables`` lists the tables and resolves their names, ``raw`` declares the raw ones, ``export``
writes the tables that a query names for its process, ``process`` runs that process within the
limits, and ``query`` joins them. What runs in the process (``engine``, ``statement``, ``sources``)
knows no view; only ``engine`` imports DuckDB.
"""
