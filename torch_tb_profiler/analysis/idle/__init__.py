"""Why devices stand idle: every moment in which none works, given to one cause."""
