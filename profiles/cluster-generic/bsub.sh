#!/bin/sh
# bsub with the job's script as its last argument; prints the number of the job alone.
for script; do :; done
options=$(($# - 1))
while [ $options -gt 0 ]; do
    set -- "$@" "$1"
    shift
    options=$((options - 1))
done
shift
answer=$(bsub "$@" <"$script") || exit 1
number=$(printf '%s\n' "$answer" | sed -n 's/^Job <\([0-9]*\)>.*/\1/p')
if [ -z "$number" ]; then
    echo "bsub.sh: bsub has given no number of a job: $answer" >&2
    exit 1
fi
echo "$number"
