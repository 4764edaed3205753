"""A filled view as bytes or text: JSON, CSV, Markdown, a terminal's table."""
