# Input functions of `verify`: which committed tables a run is held against.


def committed_tables(wildcards):
    """Input function: committed tables of this preset's seeds."""
    # Here, as it imports pandas, which other jobs can do without.
    from kerhrm.reporting.verify import committed

    try:
        folder = committed(Path(REFERENCE), CONFIG.preset)
    except KerhrmError as error:
        sys.exit(f"error: {error}")  # as options_of does
    paths = [folder / f"{table}.csv" for table in IN_ALL_TABLES]
    # Tables of experiments that have not been published are not compared.
    return [str(path) for path in paths if path.exists()]


def tables_to_verify(wildcards):
    return [f"{RUN}/tables/{Path(path).name}" for path in committed_tables(wildcards)]
