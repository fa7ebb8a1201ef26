"""The program once more, in a process that `multiprocessing` started anew for it, with its imports mapped there, too.

`multiprocessing` runs this module instead of the program's file.
"""

import json
import os
import sys

from dovetail.compat.run import GIVEN, running

mapping = running(**json.loads(os.environ[GIVEN]))  # as long as the process
globals().update(mapping.__enter__().run(sys.argv[1:], "__mp_main__"))
