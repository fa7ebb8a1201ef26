"""Names of other libraries and versions, for programs written for them; who wants one imports it."""
