# The workflow with the environment of `make env`.  Results go to /work:
#   docker build --tag kerhrm .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" kerhrm --cores 2 all --config preset=smoke
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /kerhrm
# First what the environment is made from, so that an edit of the code does not install it again.
COPY Makefile pyproject.toml README.md LICENSE ./
COPY envs envs
COPY src/kerhrm/__init__.py src/kerhrm/__init__.py
ARG TORCH=cpu
RUN make env TORCH="$TORCH"

COPY . .
# For a user without a name or a home.
ENV HOME=/tmp USER=kerhrm
WORKDIR /work
ENTRYPOINT ["/kerhrm/.venv/bin/snakemake", "--snakefile", "/kerhrm/Snakefile"]
CMD ["--cores", "all", "all"]
