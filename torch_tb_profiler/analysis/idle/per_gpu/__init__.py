"""Why each GPU stands idle: every moment in which it runs nothing, given to one cause."""
