"""The graph that sessions run parts of, and the sessions."""

from dovetail.core.base.hooks import hooks
from dovetail.sessions.session import run

hooks.run = run
