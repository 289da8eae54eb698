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
bsub "$@" <"$script" | sed -n 's/^Job <\([0-9]*\)>.*/\1/p'
