"""Output formats of views: json, csv, markdown, terminal."""
