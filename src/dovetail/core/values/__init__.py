"""Values that calls take and give: specs, shapes, variables, structures, and the kinds of each."""
