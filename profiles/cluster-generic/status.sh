#!/bin/sh
# What Snakemake wants to hear about a job: running, success or failed.
#
#   status.sh SCHEDULER ID      SCHEDULER is one of sge, pbs, lsf, slurm
#
# A job that the scheduler does not know yet, or a question that it could not answer, is
# "running": Snakemake asks again.
id=$2
case $1 in
sge) # qstat has what waits and runs, qacct what has ended, some seconds later
    if qstat -j "$id" >/dev/null 2>&1; then
        echo running
    elif ended=$(qacct -j "$id" 2>/dev/null); then
        echo "$ended" | awk '
            $1 == "failed" || $1 == "exit_status" { if ($2 != 0) bad = 1 }
            END { print bad ? "failed" : "success" }'
    else
        echo running
    fi
    ;;
pbs) # -x: ended jobs, too
    qstat -x -f "$id" 2>/dev/null | awk '
        $1 == "job_state" { state = $3 }
        $1 == "Exit_status" { status = $3 }
        END {
            if (state != "F") print "running"
            else print status == "0" ? "success" : "failed"
        }'
    ;;
lsf)
    case $(bjobs -noheader -o stat "$id" 2>/dev/null) in
    DONE) echo success ;;
    EXIT) echo failed ;;
    *) echo running ;;
    esac
    ;;
slurm) # squeue forgets a job minutes after its end; accounting, where it is on, does not
    state=$(squeue --noheader --states=all --format=%T --jobs="$id" 2>/dev/null)
    [ -n "$state" ] || state=$(
        sacct --allocations --noheader --parsable2 --format=State --jobs="$id" 2>/dev/null
    )
    case $state in
    COMPLETED) echo success ;;
    BOOT_FAIL | CANCELLED* | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | TIMEOUT) echo failed ;;
    *) echo running ;;
    esac
    ;;
*)
    echo "status.sh: unknown scheduler '$1'; known are: sge, pbs, lsf, slurm" >&2
    exit 2
    ;;
esac
