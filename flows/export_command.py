"""`judgelake export`: writes a lake's current rows as a folder for Hugging Face `datasets`."""

import argparse
import sys

from judgelake.tasks.errors import ExitCode
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.reports.dataset_folder import export_dataset


def run_export(options: argparse.Namespace) -> int:
    """Write the folder that the options name, and print what is in it."""
    written = export_dataset(open_lake(options.lake), options.hf, options.license)
    for table in written:
        sys.stdout.write(f"{table.name:<20} {table.n_rows:>12,} rows\n")
    sys.stdout.write(
        f"load: datasets.load_dataset({str(options.hf)!r}, {written[0].name!r}); its card is "
        f"{options.hf / 'README.md'}\n"
    )
    return ExitCode.DONE
