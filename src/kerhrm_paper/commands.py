"""Commands of the reproduction: explain, options, verify, publish, cost, claims,
compete."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from kerhrm.cli import OF_PAPER, Adder
from kerhrm.errors import FileError, KerhrmError, suggest
from kerhrm.extras import check_backend, needs
from kerhrm.files import quoted
from kerhrm.parsers import file_path
from kerhrm_paper.compete.limits import TIMEOUT

REFERENCE = Path("results/reference")
SHOWN = 20  #: departures from the published run


def add_commands(add: Adder) -> None:
    """Add each command with its options."""
    where: dict[str, Any] = {
        "type": file_path,
        "default": REFERENCE,
        "help": "default: %(default)s",
    }

    more_files: dict[str, Any] = {
        "type": file_path,
        "nargs": "+",
        "action": "extend",
        "default": [],
        "metavar": "FILE",
        "help": "further YAML files, as Snakemake takes them",
    }

    explain = add("explain", _explain, OF_PAPER["explain"])
    examples = {
        "table": "table1",
        "setting": "r2=0.7",
        "method": "KerHRM",
        "metric": "test_acc",
    }
    for key, example in examples.items():
        explain.add_argument(key, help=f"such as {example}")
    explain.add_argument("--run", **where)
    explain.add_argument(
        "--selection",
        help="criterion that selected options; default: the method's own",
    )
    verify = add("verify", _verify, OF_PAPER["verify"])
    verify.add_argument("run", type=file_path, help="folder, such as results/smoke")
    verify.add_argument("--reference", **where)
    verify.add_argument("--all", action="store_true", help="list every departure")
    verify.add_argument("--csv", type=file_path, help="write all cells side by side")
    publish = add("publish", _publish, OF_PAPER["publish"])
    publish.add_argument("run", type=file_path, help="folder, such as results/fresh")
    publish.add_argument(
        "tables",
        nargs="*",
        help="only these; files of study_NAME go to results/study",
    )
    publish.add_argument("--reference", **where)
    publish.add_argument(
        "--again",
        action="store_true",
        help="write the endpoints, claims and figures of published results again",
    )
    cost = add("cost", _cost, OF_PAPER["cost"])
    cost.add_argument(
        "targets", nargs="*", default=["all"], help="of Snakemake; default: all"
    )
    cost.add_argument("--cores", type=int, default=2, help="default: %(default)s")
    cost.add_argument(
        "--config",
        nargs="*",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="keys of the configuration, as Snakemake takes them",
    )
    cost.add_argument("--configfile", **more_files)
    options = add("options", _options, OF_PAPER["options"])
    text = "as kerhrm, or classification; without one all names are listed"
    options.add_argument("name", nargs="?", help=text)
    options.add_argument("--preset", default="paper", help="default: %(default)s")
    options.add_argument("--configfile", **more_files)
    claims = add("claims", _claims, OF_PAPER["claims"])
    claims.add_argument("run", nargs="?", **where)
    _add_compete(add)


def _add_compete(add: Adder) -> None:
    compete = add("compete", _compete, OF_PAPER["compete"])
    compete.add_argument("file", type=file_path, help="a Python file with METHOD")
    compete.add_argument("--new", action="store_true", help="write a template to FILE")
    compete.add_argument(
        "--tables",
        type=_names,
        default=[],
        metavar="NAME,...",
        help="default: all of `snakemake all` that the method can enter",
    )
    compete.add_argument(
        "--preset",
        choices=("smoke", "paper", "fresh"),
        default="smoke",
        help="smoke: tiny sizes, to try a file, where ranks say nothing; fresh: the "
        "published seeds, where yours alone is trained if the scores of the others are "
        "published; paper: the paper's seeds, where all methods are trained; default: "
        "%(default)s",
    )
    compete.add_argument(
        "--timeout",
        type=_minutes,
        default=TIMEOUT,
        metavar="MINUTES",
        help="longest time of a fit, default: %(default)g; each candidate on each data "
        "set can take that long once, and again in the tables",
    )
    compete.add_argument(
        "--cores", type=int, default=os.cpu_count() or 1, help="default: all"
    )


def _minutes(text: str) -> float:
    """A number of minutes."""
    try:
        return float(text)
    except ValueError:
        problem = f"it must be a number of minutes, as 5 or 0.5; got {text!r}"
        raise argparse.ArgumentTypeError(problem) from None


def _names(text: str) -> list[str]:
    """Names between commas."""
    words = [word.strip() for word in text.split(",")]
    names = [word for word in words if word]
    if not names:
        problem = f"it must name tables between commas; got {text!r}"
        raise argparse.ArgumentTypeError(problem)
    return names


def _explain(options: argparse.Namespace) -> None:
    from kerhrm_paper.reporting.explain import explain
    from kerhrm_paper.reporting.run import Run

    run = Run(options.run)
    cell = (options.table, options.setting, options.method, options.metric)
    found = explain(run, *cell, selection=options.selection)
    text = json.dumps(found, indent=1, default=str)
    print(text)


def _verify(options: argparse.Namespace) -> int:
    from kerhrm_paper.reporting.run import Run
    from kerhrm_paper.reporting.verify import check_destination, save, verify

    run = Run(options.run)
    if options.csv:
        check_destination(options.csv, run, options.reference)
    found = verify(run, options.reference)
    if options.csv:
        save(found, options.csv)
    departures = found.departures
    print(found)
    if len(departures):
        shown = departures if options.all else departures.head(SHOWN)
        text = shown.to_string(index=False, float_format="%.4g")
        print(text)
        if len(departures) > len(shown):
            print(f"and {len(departures) - len(shown)} more, which --all lists")
    return int(len(departures) > 0)


def _publish(options: argparse.Namespace) -> None:
    needs("workflow", "matplotlib")
    check_backend()
    from kerhrm_paper.reporting.publish import publish
    from kerhrm_paper.reporting.publish_again import publish_again
    from kerhrm_paper.reporting.publish_studies import (
        check_studies,
        draw_again,
        publish_studies,
    )
    from kerhrm_paper.reporting.run import Run
    from kerhrm_paper.studies.registry import STUDIES, TARGET

    if options.again:
        if options.tables:
            problem = f"--again is of all that is published, not of {options.tables[0]}"
            raise KerhrmError(problem, "leave the names out")
        if options.reference not in (REFERENCE, options.run):
            problem = f"--again writes to {options.run}, not to {options.reference}"
            raise KerhrmError(problem, "leave --reference out")
        is_of_studies = "studies" in Run(options.run).provenance
        print(draw_again(options.run) if is_of_studies else publish_again(options.run))
        return
    run = Run(options.run)
    studies = [name for name in options.tables if name.startswith(TARGET)]
    tables = [name for name in options.tables if name not in studies]
    beside = options.reference.resolve().parent / "study"
    if studies:  # before a table is written
        check_studies(run, beside, studies)
    for name in tables:
        if name in STUDIES and not run.has(f"tables/{name}.csv"):
            problem = f"{options.run} has no table called {name}"
            raise KerhrmError(problem, f"did you mean {TARGET}{name}?")
    if tables or not studies:
        print(publish(run, options.reference, tables))
    if studies:
        print(publish_studies(run, beside, studies))


def _options(options: argparse.Namespace) -> None:
    from kerhrm_paper.config.config import load_config
    from kerhrm_paper.config.files import presets
    from kerhrm_paper.config.layout import CHECKOUT
    from kerhrm_paper.reporting.option_list import names, table

    _check_files(options.configfile)
    known = list(presets(CHECKOUT / "config"))
    if options.preset not in known:
        problem = f"--preset: no preset is called '{options.preset}'"
        raise KerhrmError(problem, suggest(options.preset, known))
    config = load_config({"preset": options.preset}, options.configfile)
    if options.name is None:
        print(names(config))
    else:
        print(table(config, options.name))


def _check_files(files: list[Path]) -> None:
    """Refuse a name that an option with several files has taken for one of them.

    A name has full stops, as ``kerhrm+alpha=0.1``, and may be a file of a run: only
    the endings of YAML and JSON say that a file of the configuration is meant.
    """
    from kerhrm_paper.config.strict_yaml import read_yaml

    hint = "write names before the options; --configfile takes YAML files"
    for file in files:
        if file.suffix.lower() in (".yaml", ".yml", ".json"):
            continue
        if not file.exists():
            raise FileError(f"--configfile: {file} does not exist", hint)
        try:
            read_yaml(file)
        except KerhrmError as error:
            raise FileError(f"--configfile: {error.problem}", hint) from error


def _cost(options: argparse.Namespace) -> None:
    needs("workflow", "snakemake")
    from kerhrm_paper.config.strict_yaml import read_yaml
    from kerhrm_paper.reporting.predicted_costs import predict
    from kerhrm_paper.studies.registry import STUDIES, TARGET

    _check_files(options.configfile)
    for file in options.configfile:
        read_yaml(file)  # Snakemake's error would be a traceback's last line
    declared = {}
    for name, study in STUDIES.items():
        declared[TARGET + name] = 60.0 * study.minutes
    text = predict(
        options.targets,
        REFERENCE,
        cores=options.cores,
        config=options.config,
        configfiles=options.configfile,
        declared=declared,
    )
    print(text)


def _claims(options: argparse.Namespace) -> None:
    from kerhrm_paper.reporting.run import Run

    columns = ["claim", "status", "effect", "ci_low", "ci_high", "statement"]
    run = Run(options.run)
    run.check_unchanged("claims.csv")
    claims = run.claims()[columns]
    text = claims.to_string(index=False, na_rep="", float_format="%.3g")
    print(text)


def _compete(options: argparse.Namespace) -> None:
    needs("workflow", "matplotlib", "snakemake")
    check_backend()
    from kerhrm_paper.compete.contest import Contest, compete, write_template

    if options.new:
        write_template(options.file)
        print(f"kerhrm compete {quoted(options.file)}")
        return
    contest = Contest(
        options.file,
        options.tables,
        preset=options.preset,
        minutes=options.timeout,
        cores=options.cores,
    )
    print(compete(contest))
