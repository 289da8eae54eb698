#!/bin/sh
# Slurm and munge for the tests, as Debian's packages. Without the right to install them:
# says what is missing and how to get it.
set -eu
packages="slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
PATH=$PATH:/usr/sbin:/sbin
missing=
for program in slurmctld slurmd sbatch munged; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
if [ -z "$missing" ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "not installed:$missing; install Slurm and munge with this system's package manager" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "not installed:$missing; run: sudo apt-get install --no-install-recommends $packages" >&2
    exit 1
fi
# A daemon that the packages start would be somebody else's cluster: forbid it meanwhile.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! { apt-get update -qq && apt-get install -qq --no-install-recommends $packages >/dev/null; }; then
    echo "not installed:$missing; apt-get could not get: $packages" >&2
    exit 1
fi
