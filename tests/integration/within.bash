# SPDX-License-Identifier: GPL-3.0-or-later
# Waiting, for tests. Load it with `load within`; lab.bash and run.bash do.

# CPUs that this process may use, by its affinity and the quotas of its control groups, which version 1 has in two files
# and version 2 in one.
within_cores() {
	local mount=/sys/fs/cgroup/cpu group
	group=$(awk -F: '$2 ~ "(^|,)cpu(,|$)" {print $3}' /proc/self/cgroup)
	[ -n "$group" ] || { mount=/sys/fs/cgroup group=$(awk -F: '$2 == "" {print $3}' /proc/self/cgroup); }
	while :; do
		cat "$mount$group/cpu.max" 2>/dev/null ||
			paste "$mount$group/cpu.cfs_quota_us" "$mount$group/cpu.cfs_period_us" 2>/dev/null
		[ -n "$group" ] || break
		group=${group%/*}
	done | awk -v least="$(nproc)" '$1 + 0 > 0 && $1 / $2 < least {least = $1 / $2} END {print least}'
}

# A time that a test gives is what two CPUs with nothing else to do need, and some more. So many times as much is waited
# for what a slow machine may take, and so many times that again where there are fewer CPUs, or other processes want
# them; not for ever: a deadline is for what hangs.
within_find_patience() {
	local load
	read -r load _ </proc/loadavg
	awk -v cores="$(within_cores)" -v load="$load" -v all="$(getconf _NPROCESSORS_ONLN)" 'BEGIN {
		small = cores < 2 ? 2 / cores : 1
		busy = load > all ? load / all : 1
		times = 3 * (small * busy < 4 ? small * busy : 4)
		print int(times) + (times > int(times))
	}'
}
within_patience=${VIRTBED_PATIENCE:-${within_patience:-$(within_find_patience)}}

# Runs a command until it succeeds, at most SECONDS. within SECONDS COMMAND...
within() {
	local until=$((SECONDS + $1 * within_patience))
	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || { echo "not within its time: $*"; return 1; }
		sleep 0.1
	done
}

# Waits until a process has ended that need not be our child, at most SECONDS. within_ended SECONDS PID
within_ended() {
	timeout $(($1 * within_patience)) tail --pid="$2" -f /dev/null
}
