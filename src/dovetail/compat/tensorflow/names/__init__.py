"""The rows and functions of the table, a module for each family of names; `entries` imports it when it is needed."""
