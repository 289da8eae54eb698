"""The command ``kerhrm check``: its options, its report and its files."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from kerhrm.errors import KerhrmError, escaped, shown
from kerhrm.extras import check_backend, needs
from kerhrm.parsers import file_path
from kerhrm.progress import shown_if

if TYPE_CHECKING:
    from kerhrm.check import Checked
    from kerhrm.description.result import Description

#: what stands above a report
TEST_ROWS = "errors on rows that were held out (environments by membership)"


def add_options(check: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    column: dict[str, Any] = {"metavar": "COLUMN", "type": _name}
    columns: dict[str, Any] = {
        **column,
        "nargs": "+",
        "action": "extend",
        "default": [],
    }
    check.add_argument("csv", type=file_path, help="CSV file, or a pipe")
    check.add_argument("--target", **column, required=True, help="column to predict")
    check.add_argument(
        "--auxiliary",
        **columns,
        help="columns, such as a time, that environments are functions of; they do "
        "not predict",
    )
    check.add_argument(
        "--group",
        **column,
        help="column whose groups are compared; it does not predict",
    )
    check.add_argument("--drop", **columns, help="columns to leave out")
    check.add_argument("--dates", **columns, help="columns that hold dates")
    check.add_argument(
        "--date-order", help="dmy, mdy or ymd, where the dates do not show it"
    )
    check.add_argument("--sep", help="what separates cells; default: found out")
    check.add_argument("--decimal", help="decimal point or comma; default: found out")
    check.add_argument("--encoding", help="default: found out, or UTF-8")
    check.add_argument(
        "--environments",
        type=int,
        help="number of environments at most, as empty ones are left out; default: 2 "
        "of two labels, and with --auxiliary, else 1 to 5, by held-out likelihood",
    )
    check.add_argument(
        "--task", help="classification or regression; default: by the target's values"
    )
    check.add_argument(
        "--seed", default="0", help="draws the test rows and the fit; default: 0"
    )
    check.add_argument(
        "--html", type=file_path, help="page to write, with pictures; it ends in .html"
    )
    check.add_argument(
        "--memberships",
        type=file_path,
        metavar="FILE",
        help="table to write: the environment of each row; it ends in .csv",
    )
    check.add_argument(
        "--quiet", action="store_true", help="do not show how far the check is"
    )


def run(options: argparse.Namespace) -> None:
    """Print the report of a file, and write what the options name.

    Raises KerhrmError for what the user can correct.
    """
    least = 2 if options.auxiliary else 1
    if options.environments is not None and options.environments < least:
        problem = f"--environments must be {least} or more; got {options.environments}"
        raise KerhrmError(problem, "leave --environments out")
    seed = _seed(options.seed)
    from kerhrm.check.outputs import MEMBERSHIPS, PAGE, check_output

    if options.html is not None:
        needs("plots", "matplotlib")
        check_backend()
        check_output(PAGE, options.html, options.csv)
    if options.memberships is not None:
        check_output(MEMBERSHIPS, options.memberships, options.csv)
    # threads that wait for each other do not keep a core from other processes
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from kerhrm.check import check, read_table

    table = read_table(
        options.csv,
        sep=options.sep,
        decimal=options.decimal,
        encoding=options.encoding,
        dates=options.dates,
        date_order=options.date_order,
    )
    with shown_if(int(not options.quiet)):
        checked = check(
            table,
            options.target,
            auxiliary=options.auxiliary,
            group=options.group,
            drop=options.drop,
            n_environments=options.environments,
            task=options.task,
            random_state=seed,
        )
        description = checked.model.describe(random_state=seed)
    verdict, end, details = str(description).partition("\n")
    doubts = "" if checked.doubts is None else f"\n{checked.doubts}"
    text = f"{verdict}{doubts}{end}{details}\n\n{TEST_ROWS}\n{checked.report}"
    written: list[str] = []
    try:  # a full disk takes the files, not the report of a long fit
        _write_outputs(options, checked, description, written)
    finally:
        print(_printable("\n\n".join([text, *written])))


def _write_outputs(
    options: argparse.Namespace,
    checked: "Checked",
    description: "Description",
    written: list[str],
) -> None:
    """Write the files that the options name, and add a line on each to ``written``."""
    from kerhrm.files import write_text

    if options.memberships is not None:
        from kerhrm.check.outputs import memberships

        table = memberships(checked, description)
        if table is None:
            reason = "there is no split of the rows"
            written.append(f"{options.memberships} is not written: {reason}")
        else:
            write_text(options.memberships, table.to_csv())
            written.append(f"memberships of the rows: {options.memberships}")
    if options.html is not None:
        from kerhrm.plots.page import page

        title = os.fsencode(options.csv.name).decode("utf-8", "replace")
        write_text(options.html, page(checked, title, description))
        written.append(f"open {options.html}")


def _seed(text: str) -> int:
    """A seed as it is given in a shell.

    Raises KerhrmError if it is none.
    """
    if text.isascii() and text.isdecimal() and int(text) < 2**32:
        return int(text)
    problem = f"--seed must be a whole number from 0 to 2^32 - 1; got {shown(text)}"
    raise KerhrmError(problem, "use --seed 0, or leave it out")


def _name(text: str) -> str:
    """A name of a column as UTF-8, whatever the terminal's encoding is."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def _printable(text: str) -> str:
    """Text whose control characters, as those of a terminal, are written out."""
    lines = text.split("\n")
    return "\n".join(map(escaped, lines))
