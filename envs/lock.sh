#!/bin/sh
# Renew envs/requirements.lock from pyproject.toml (needs uv: pip install uv).
# torch stays out of the lock, so that users choose its CPU or CUDA build
# (envs/torch.txt); what torch itself needs is locked with the rest.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "torch ; python_version < '3'" > "$work/without-torch.txt"
printf '%s\n' filelock fsspec jinja2 networkx 'sympy>=1.13.3' typing-extensions > "$work/torch-needs.in"
uv pip compile --quiet --universal --python-version 3.11 \
    --extra workflow --extra dev --extra progress \
    --generate-hashes --no-header --no-annotate --override "$work/without-torch.txt" \
    pyproject.toml "$work/torch-needs.in" -o "$work/requirements.lock" "$@"
mv "$work/requirements.lock" envs/requirements.lock
