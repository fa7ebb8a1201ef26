"""Pictures: graphs as pages, drawings and files of viewers, and traces of profiles."""
