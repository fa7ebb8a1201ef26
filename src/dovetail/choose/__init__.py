"""Choice: which engine, threads and group of calls run a graph, by prediction and measurement."""
