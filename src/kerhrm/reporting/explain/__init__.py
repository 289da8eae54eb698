"""Where a number of a table comes from: seeds, options, jobs, files, hashes."""
