"""Parts of an engine by subject, and the registry of engines."""
