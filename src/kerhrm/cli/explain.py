"""``kerhrm explain``: where a number of a table comes from."""

import argparse
from pathlib import Path

HELP = "seeds, options, jobs, files and hashes behind a number of a table; run it in a checkout"
RUN, REFERENCE = Path("results/paper"), Path("results/reference")


def declare(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("table", metavar="TABLE", help="table1, figure2, ...")
    parser.add_argument("setting", metavar="SETTING", help="as the table calls it: r2=0.70")
    parser.add_argument("method", metavar="METHOD", help='a row: "KerHRM (network)"')
    parser.add_argument("metric", metavar="METRIC", help="test_acc, mean_error, ...")
    known = f"a run, or {REFERENCE} ({RUN} if it has the table, else {REFERENCE})"
    parser.add_argument("--run", type=Path, dest="folder", metavar="RUN", help=known)
    parser.add_argument("--rule", metavar="RULE", help="selection rule (the method's own)")
    parser.add_argument("--json", action="store_true", help="all of it, for machines")


def run(options: argparse.Namespace) -> None:
    """Print what is known of the cell."""
    from kerhrm.reporting.explain.explanation import as_json, explain
    from kerhrm.reporting.explain.text import as_text

    folder = options.folder or (RUN if _has(RUN, options.table) else REFERENCE)
    name = options.table, options.setting, options.method, options.metric
    found = explain(folder, *name, rule=options.rule)
    print(as_json(found) if options.json else as_text(found), end="\n" if options.json else "")


def _has(run: Path, table: str) -> bool:
    return (run / "tables" / f"{table}.csv").exists()
