"""From one file to one trace: admitted, parsed on several cores, cached."""
