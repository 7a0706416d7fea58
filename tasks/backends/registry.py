"""Which backends there are. What each one does is its own file."""

from judgelake.tasks.backends import replay
from judgelake.tasks.backends.endpoint import BackendKind
from judgelake.tasks.backends.local import endpoint as local
from judgelake.tasks.backends.openai import settings as openai
from judgelake.tasks.extensions import Registry

BACKENDS = Registry(
    "judgelake.backends",
    BackendKind,
    [openai.BACKEND, replay.BACKEND, openai.STANDIN, local.BACKEND],
)
