#!/bin/sh
# Runs the command that submits a job, and prints its answer: the number of the job.
#
# A scheduler may give a number again. What status.sh and jobscript.sh have noted of the earlier job
# is not of this one, which may wait for hours while the scheduler does not answer.
answer=$("$@") || exit
number=$(printf '%s\n' "$answer" | head -n 1)
if [ -n "$number" ]; then
    rm -f ".snakemake/log/$number.ended" ".snakemake/log/$number.unknown"
fi
printf '%s\n' "$answer"
