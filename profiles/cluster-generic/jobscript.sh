#!/bin/sh
# properties = {properties}
# A scheduler without a history forgets how a job has ended: status.sh reads it here.
ended=${{PBS_O_WORKDIR:-$PWD}}/.snakemake/log/${{PBS_JOBID:-${{LSB_JOBID:-${{SLURM_JOB_ID:-$JOB_ID}}}}}}.ended
rm -f "$ended"
(
{exec_job}
)
status=$?
echo "$status" 2>/dev/null >"$ended"
exit "$status"
