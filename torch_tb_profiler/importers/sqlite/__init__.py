"""SQLite databases as columns, for the formats that are databases. No format itself."""
