"""The commands as `judgelake --help` lists them: one line each, grouped by purpose. The options of
a command are in `flows.command_options`.
"""

from collections.abc import Collection, Mapping

GROUPS: Mapping[str, Mapping[str, str]] = {
    "try out": {
        "init": "write a suite of your own, or one of the examples",
        "schema": "print the JSON Schema of suite files, for editors",
        "plan": "calls, tokens, money and time of a run; sends no request",
    },
    "run": {
        "run": "ingest, judge and report a suite; continues where it stopped",
        "ingest": "read a suite's answers and ratings into the lake",
        "answer": "have models answer a suite's items",
        "judge": "judge and score answers that have no verdict or score",
        "report": "compute a suite's correlations and write its report",
        "reread": "read stored replies again; sends no request",
        "collect": "generate feedback to train a judge on",
        "train": "fine-tune a local model on another judge's verdicts",
    },
    "ask": {
        "view": "reports, the run in progress and SQL in a browser",
        "open": "a suite's last report in a browser, from disk",
        "sql": "query the lake in SQL, or by one of the recipes",
        "paper": "print tables of the papers, beside the papers' numbers",
        "catalog": "write a DuckDB file of views over the lake, for other tools",
        "export": "write the lake as a folder for Hugging Face datasets",
        "status": "runs in progress, and how the last runs ended",
    },
    "operate": {
        "serve": "run a suite on a schedule",
        "worker": "work for a Dask scheduler that runs elsewhere",
        "certificate": "make the certificate of a cluster's scheduler and workers",
        "check": "look for damage in the lake's files and rows",
        "compact": "merge the lake's small files into few large ones",
        "forget": "remove a judge or a benchmark from the lake",
        "completion": "print completions for bash, zsh or fish",
    },
}


def describe_commands(names: Collection[str]) -> str:
    """The help text: the commands `names`, each group under its title."""
    lines = ["usage: judgelake [-h] COMMAND ...    (COMMAND --help explains a command)"]
    for title, commands in GROUPS.items():
        lines += [f"{title}:"]
        lines += [f"  {name:<11} {summary}" for name, summary in commands.items() if name in names]
    return "\n".join(lines) + "\n"
