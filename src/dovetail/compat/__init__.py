"""Names of other libraries and versions, for programs written for them; a program imports the module that it needs."""
