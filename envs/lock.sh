#!/bin/sh
# Renew envs/requirements.lock from pyproject.toml (needs uv: pip install uv).  Versions stay as
# they are where pyproject.toml allows; with --upgrade they are the newest.
# torch stays out of the lock, so that users choose its CPU or CUDA build
# (envs/torch.txt); what torch itself needs is locked with the rest.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "torch ; python_version < '3'" > "$work/without-torch.txt"
printf '%s\n' filelock fsspec jinja2 networkx 'sympy>=1.13.3' typing-extensions > "$work/torch-needs.in"
cp envs/requirements.lock "$work/requirements.lock"
uv pip compile --quiet --universal --python-version 3.11 \
    --extra workflow --extra dev --extra docs --extra plots --extra progress \
    --generate-hashes --no-header --no-annotate --override "$work/without-torch.txt" \
    pyproject.toml "$work/torch-needs.in" -o "$work/requirements.lock" "$@"
mv "$work/requirements.lock" envs/requirements.lock
