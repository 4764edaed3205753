"""How right the findings are, measured on recordings whose cause of lost time is known because it
was put there.

A case is a recording (real or generated) with one cause put into it, or none. A simulator replays
it with and without the cause: the difference is the true gain. Nothing here but ``judging`` uses
the product, and that only to ask for its findings.
"""
