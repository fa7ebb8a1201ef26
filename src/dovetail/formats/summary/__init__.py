"""Summaries of files: the contents as plain data, without the weights; `dovetail show` prints them."""
