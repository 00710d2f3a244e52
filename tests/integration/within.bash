# SPDX-License-Identifier: GPL-3.0-or-later
# Waiting, for tests. Load it with `load within`; lab.bash and run.bash do.

# The time of `within` and its like is what a machine with nothing else to do needs, and some more. So many times
# as much is waited for what a slow one, or one in use, may take: a deadline is for what hangs.
within_patience=${VIRTBED_PATIENCE:-3}

# Runs a command until it succeeds, at most SECONDS. within SECONDS COMMAND...
within() {
	local until=$((SECONDS + $1 * within_patience))
	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || { echo "not within its time: $*"; return 1; }
		sleep 0.1
	done
}
