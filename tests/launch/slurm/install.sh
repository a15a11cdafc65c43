#!/bin/sh
# Installs what `make test-slurm` starts, if it is missing. Only root can, and only on Debian.
set -eu
PATH=$PATH:/usr/sbin:/sbin

have() {
    for program in munged slurmctld slurmd sbatch; do
        command -v "$program" >/dev/null || return 1
    done
}

have && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "SLURM is not tested: install slurmctld, slurmd, slurm-client and munge, then make test-slurm." >&2
    exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    slurmctld slurmd slurm-client munge
