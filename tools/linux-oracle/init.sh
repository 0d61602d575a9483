#!/bin/bash
# First and only shell of the guest. Its root is this machine's file system, read-only; JOB is a folder
# with the commands to run (job.sh), where they also write.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/job /run/netns
mount -t hostfs none /run/job -o "$JOB"
cd /run/job || exit 1
(set -e; . ./job.sh) >output 2>errors </dev/null
echo $? >status
sync
"$AGENT" off
