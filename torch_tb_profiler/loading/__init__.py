"""Opening: joins discovery, import, build and cache; background jobs and their progress."""
