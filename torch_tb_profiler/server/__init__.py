"""The WSGI application: routes, static files, headers."""
