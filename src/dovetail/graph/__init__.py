"""The recorded program: its parts, how it is built by tracing, edited, copied and printed."""
