"""From a graph to its execution: segments, each lowered to one engine, and the plan that runs them."""
