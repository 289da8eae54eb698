"""Runs of the workflow: files, checkpoints, jobs, locks, code hashes and costs."""

#: how rules that train several learners, in the place of `train`, are called
TOGETHER = "together_"
