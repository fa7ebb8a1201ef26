"""The base of core: dtypes, errors, settings and scopes, files and caches, and the hooks to upper floors."""
