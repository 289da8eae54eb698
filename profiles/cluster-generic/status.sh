#!/bin/sh
# What Snakemake wants to hear about a job: running, success or failed.
#
#   status.sh SCHEDULER ID      SCHEDULER is one of sge, pbs, lsf, slurm
#
# A job that the scheduler does not know has ended as jobscript.sh has noted. Without a note it may
# be too new, and a scheduler may not answer for a while: Snakemake asks again.
scheduler=$1
id=$2
notes=.snakemake/log # in the folder that jobs are submitted from
ASKED=15             # a scheduler that answers and does not know a job after so many times has lost it

# What awk or a list of states says of the job; "unknown" if the scheduler has no word of it.
state_of_job() {
    case $scheduler in
    sge) # qstat has what waits and runs, qacct what has ended, some seconds later
        if qstat -j "$id" >/dev/null 2>&1; then
            # Eqw: it could not start, and waits until an administrator clears it
            qstat 2>/dev/null | awk -v id="$id" '
                $1 == id && $5 ~ /^E/ { bad = 1 }
                END { print bad ? "failed" : "running" }'
        elif ended=$(qacct -j "$id" 2>/dev/null); then
            echo "$ended" | awk '
                $1 == "failed" || $1 == "exit_status" { if ($2 != 0) bad = 1 }
                END { print bad ? "failed" : "success" }'
        else
            echo unknown
        fi
        ;;
    pbs) # -x: ended jobs, too; an error for every job where no history is kept
        { qstat -x -f "$id" || qstat -f "$id"; } 2>/dev/null | awk '
            $1 == "job_state" { state = $3 }
            $1 == "Exit_status" { status = $3 }
            END {
                if (state == "") print "unknown"
                else if (state != "F") print "running"
                else print status == "0" ? "success" : "failed"
            }'
        ;;
    lsf)
        case $(bjobs -noheader -o stat "$id" 2>/dev/null) in
        DONE) echo success ;;
        EXIT) echo failed ;;
        '') echo unknown ;;
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
        BOOT_FAIL | CANCELLED* | DEADLINE | FAILED | LAUNCH_FAILED | NODE_FAIL | OUT_OF_MEMORY) echo failed ;;
        PREEMPTED | RECONFIG_FAIL | REVOKED | TIMEOUT) echo failed ;;
        '') echo unknown ;;
        *) echo running ;;
        esac
        ;;
    esac
}

# Whether the scheduler answers at all.
answers() {
    case $scheduler in
    sge) qstat ;;
    pbs) qstat -B ;;
    lsf) bqueues ;;
    slurm) sinfo --noheader ;;
    esac >/dev/null 2>&1
}

case $scheduler in
sge | pbs | lsf | slurm) ;;
*)
    echo "status.sh: unknown scheduler '$scheduler'; known are: sge, pbs, lsf, slurm" >&2
    exit 2
    ;;
esac
case $id in
'' | None) # what Snakemake asks about if a submission has printed nothing
    echo "status.sh: the submission gave no number of a job" >&2
    echo failed
    exit
    ;;
esac
state=$(state_of_job)
unknown=$notes/$id.unknown
if [ "$state" != unknown ]; then
    rm -f "$unknown"
    echo "$state"
elif [ -s "$notes/$id.ended" ]; then
    rm -f "$unknown"
    if [ "$(cat "$notes/$id.ended")" = 0 ]; then echo success; else echo failed; fi
elif ! answers; then
    echo running
else
    mkdir -p "$notes"
    echo asked >>"$unknown"
    if [ "$(wc -l <"$unknown")" -ge $ASKED ]; then
        rm -f "$unknown"
        echo "status.sh: $scheduler does not know job $id any more" >&2
        echo failed
    else
        echo running
    fi
fi
