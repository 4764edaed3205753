"""The overview on one screen: verdict, the step as a bar, three findings, the top five.

:func:`content.brief_of` chooses what is said; ``terminal`` and ``markdown`` lay it out.
"""
