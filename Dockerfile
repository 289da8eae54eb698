# The workflow with the environment of `make env`, from the same hashed lock.  Results go to /work:
#   docker build --tag kerhrm .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" kerhrm --cores 2 all --config preset=smoke
# On a machine without a GPU --build-arg TORCH=torch==2.13.0+cpu with TORCH_INDEX, as for `make`, saves
# several gigabytes.
FROM python:3.11-slim-bookworm

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /kerhrm
# What the environment is made from, so that an edit of the code does not install it again.
COPY Makefile pyproject.toml README.md LICENSE ./
COPY envs envs
COPY src/kerhrm/__init__.py src/kerhrm/__init__.py
ARG TORCH=
ARG TORCH_INDEX=
RUN make env ${TORCH:+TORCH="$TORCH"} TORCH_INDEX="$TORCH_INDEX"

COPY . .
# A user without a name or a home may run it, too: Snakemake asks for both.
ENV HOME=/tmp USER=kerhrm
WORKDIR /work
ENTRYPOINT ["/kerhrm/.venv/bin/snakemake", "--snakefile", "/kerhrm/Snakefile"]
CMD ["--cores", "all", "all"]
