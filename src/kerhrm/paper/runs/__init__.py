"""Runs of the workflow: files, checkpoints, jobs, locks, code hashes and costs."""
