"""The raw tables: the tables of the trace model with texts for codes, times in ns, and what joins
them. Each is declared as the tables of views are, with the values of every column; only the columns
that a query uses are computed.
"""
