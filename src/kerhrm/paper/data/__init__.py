"""The data sets of the paper: generators, raw files, and the files that the workflow keeps."""
