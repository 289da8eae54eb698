#!/bin/sh
# Renew the locks from pyproject.toml (needs uv: pip install uv).  Versions stay where pyproject.toml
# allows; with --upgrade they are the newest.
#   requirements.lock  every package but torch, pip and setuptools included
#   cuda.lock          torch as the package index has it (on Linux with CUDA), and its CUDA packages
#   cpu.lock           torch's CPU build, by hand: hashes from its index, and the version of cuda.lock
#   peers.lock         neural-tangents, for `make bench`
#   tables.lock        packages that ship tables, for `snakemake study_real_tables`
#   oracles.lock       what unit tests compare with
#   encoder.lock       the encoder of docs/embeddings.md
#   environment.yml    the direct dependencies, for conda
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lock="uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate"

cat ./requirements.lock ./cuda.lock > "$work/all.lock"
printf '%s\n' pip setuptools torch==2.13.0 | $lock --extra workflow --extra dev --extra docs --extra plots \
    ../pyproject.toml - -o "$work/all.lock" "$@"
$lock --no-deps peers.txt -o peers.lock "$@"
$lock --no-deps tables.txt -o tables.lock "$@"
$lock --no-deps oracles.txt -o oracles.lock "$@"
$lock --no-deps encoder.txt -o encoder.lock "$@"
python3 - "$work/all.lock" <<'PYTHON'
import re
import sys
import tomllib
from pathlib import Path

entries = re.split(r"\n(?=\S)", Path(sys.argv[1]).read_text().strip())
cuda = [entry for entry in entries if re.match("torch==|nvidia|cuda|triton", entry)]
rest = [entry for entry in entries if entry not in cuda]
for name, chosen in {"cuda": cuda, "requirements": rest}.items():
    Path(f"{name}.lock").write_text("\n".join(chosen) + "\n")

project = tomllib.loads(Path("../pyproject.toml").read_text())["project"]
direct = project["dependencies"] + project["optional-dependencies"]["workflow"]
names = {re.split(r"[\[<>=]", line)[0] for line in direct}
pins = {entry.split("==")[0]: entry.split()[0] for entry in reversed(entries)}  # Python 3.11's first
page = Path("environment.yml").read_text()
head = page[: page.index("  - pip:\n")]
Path("environment.yml").write_text(
    head + "  - pip:\n" + "".join(f"      - {pins[name]}\n" for name in sorted(names))
)
PYTHON
