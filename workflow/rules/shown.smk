# What the page of a run shows that no rule of it makes.

# Once they are there: studies of this run, and the repository's own.
STUDIED = ("claims.csv", "ambiguities.csv", "tables/*.csv", "figures/*.png")
KEPT = ("config/frozen.yaml", "config/ambiguities.yaml", "docs/*.md", "results/*/*.csv")


def beside(wildcards):
    """Parameter function: hashes of files that no rule needs, so that a change renews the page."""
    found = [path for pattern in STUDIED for path in Path(RUN).glob(pattern)]
    found += [path for pattern in KEPT for path in ROOT.glob(pattern)]
    made = {os.path.abspath(path) for path in EVERYTHING}
    paths = sorted({os.path.abspath(path) for path in found} - made)
    return {
        os.path.relpath(path): hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
        for path in paths
    }
