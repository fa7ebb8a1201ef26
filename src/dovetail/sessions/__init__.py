"""The graph that sessions run parts of, and the sessions."""
