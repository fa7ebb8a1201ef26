"""The way from a call to a rule: checks, inference of shapes, dispatch and gradients."""
