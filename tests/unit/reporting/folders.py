"""What folders hold, for tests of what is written into them."""

from pathlib import Path

from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs import provenance


def contents(folder: Path) -> dict[Path, bytes]:
    """Bytes of all files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files}


def complete(folder: Path) -> Run:
    """The run with its claims and endpoints."""
    names = "claim,where,statement,status,status_pooled,effect,ci_low,ci_high"
    values = "1,abstract,ERM fails,supported,open,0.4,0.3,0.5"
    (folder / "claims.csv").write_text(f"{names}\n{values}\n")
    names = "table,part,method,selection,metric"
    names += ",mean,difference,ci_low,ci_high,margin,outcome"
    names += ",ci_low_exact,ci_high_exact,outcome_exact"
    values = "table1,,ERM,pooled validation,test_acc"
    values += ",0.4,0.0,-0.1,0.1,0.03,open,-0.05,0.05,open"
    (folder / "endpoints.csv").write_text(f"{names}\n{values}\n")
    return Run(folder)


def recorded(run: Run) -> Run:
    """The run with a record of every file, as its jobs write them."""
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    provenance.write(run.folder, "made", files, {}, {})
    return run
