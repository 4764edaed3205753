"""Pure algebra on arrays: intervals, forests, containment, dense ids, dictionary codes.

Only what would be right for any data with times or parents; nothing here knows a kind of event.
"""
