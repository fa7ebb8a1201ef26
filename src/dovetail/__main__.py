"""`python -m dovetail`: the `dovetail` command."""

from dovetail.cli.main import main

raise SystemExit(main())
