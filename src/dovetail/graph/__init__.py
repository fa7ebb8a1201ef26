"""The recorded program as data; nothing here traces or runs it."""
