"""The command ``skill``: instructions for agents, from templates, declarations and the parser."""
