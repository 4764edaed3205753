"""Answer requests: look up and wait for the traces they need, then compute the answer.

One function per request type of ``requests``. What it computes belongs to ``views`` and
``analysis``; HTTP belongs to ``server``.
"""
