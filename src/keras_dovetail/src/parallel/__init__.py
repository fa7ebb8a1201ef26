"""Data parallel training: batches divided among ranks or devices, and the state that these bring together."""
