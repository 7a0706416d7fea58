"""The command `judgelake schema`: the JSON Schema of a suite, on stdout. Making it is
`tasks.suite.schema`.
"""

import argparse
import json
import sys

from judgelake.tasks.errors import ExitCode


def run_schema(_options: argparse.Namespace) -> int:
    """Print the schema."""
    sys.stdout.write(format_schema())
    return ExitCode.DONE


def format_schema() -> str:
    """The schema as the text of a file."""
    from judgelake.tasks.suite.schema import make_schema

    return json.dumps(make_schema(), indent=2, ensure_ascii=False) + "\n"
