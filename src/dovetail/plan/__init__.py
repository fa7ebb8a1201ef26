"""From a graph to what is executed: lowering to one engine, buffers, and the plan that runs."""
