"""A plugin of pytest: the finder of the program's modules stands before pytest's, whose loader rewrites assertions."""

import sys

from dovetail.compat.run.imports import Finder

sys.meta_path.sort(key=lambda finder: not isinstance(finder, Finder))
