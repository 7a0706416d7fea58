"""How the templates of pages are compiled, and where what was compiled is kept."""

import contextlib
from collections.abc import Callable

import jinja2
from jinja2.bccache import Bucket

from judgelake.tasks.lake.mirror import cache_folder


class _KeptTemplates(jinja2.FileSystemBytecodeCache):
    """Compiled templates in the cache, by their text; where nothing can be written, they are
    compiled again.
    """

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def make_environment(read: Callable[[str], str]) -> jinja2.Environment:
    """An environment whose templates `read` gives by name; each value is escaped, and a name that
    is not there is an error.
    """
    folder = cache_folder() / "templates"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(read),
        bytecode_cache=_KeptTemplates(str(folder)),
    )
