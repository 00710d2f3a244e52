#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# ./testbed demo: what it refuses before anything is installed or built, in one sentence with the remedy.

load within

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cd "$BATS_TEST_TMPDIR"
	unset VIRTBED_BUILD
	mkdir tree
	cp "$ROOT/testbed" tree/
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	flock -n /run/lock/virtbed-demo true || skip "a demo is under way on this machine"
}

teardown() {
	mountpoint -q "$BATS_TEST_TMPDIR/small" && umount "$BATS_TEST_TMPDIR/small"
	[ -z "${group:-}" ] || rmdir "$group"
}

# refused STATUS TEXT COMMAND...: one line, with the text in it.
refused() {
	local expected=$1 text=$2

	shift 2
	run "$@"
	echo "$output"
	[ "$status" -eq "$expected" ]
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *"$text"* ]]
}

@test "an option that demo does not know is named" {
	refused 2 "'--again' is no option of it; it takes --new, and --probe FILE" tree/testbed demo --again
	refused 2 "--probe needs a file" tree/testbed demo --probe
}

# The lock is the machine's, so that a demo of another tree holds this one up as well.
@test "a second demo at the same time is refused, and the first one is named" {
	(
		exec 9>>/run/lock/virtbed-demo
		flock 9
		echo $BASHPID >/run/lock/virtbed-demo
		refused 1 "another demo is under way (process $BASHPID)" tree/testbed demo
	)
}

@test "the lock ends with the demo, whatever its steps left running" {
	# A step that leaves a process behind: the build of a tree whose file is a pipe that is never written.
	mkfifo tree/meson.build
	mkdir -p tree/configs
	VIRTBED_BUILD=$BATS_TEST_TMPDIR/build tree/testbed demo >words 2>&1 3>&- &
	local demo=$!
	within 60 pgrep -P "$demo" -f meson
	kill -KILL "$demo"
	within 60 flock -n /run/lock/virtbed-demo true
	pkill -KILL -f "$BATS_TEST_TMPDIR/build"
}

@test "a demo without room on the disk says how much it needs, and what to do" {
	mkdir small
	mount -t tmpfs -o size=8m none small
	cp tree/testbed small/
	refused 1 "MiB free, and the demo needs 810; make room, or clone the tree elsewhere" small/testbed demo
}

# The limit of the group that the demo is in counts, however much the machine has.
@test "a demo without room for its blades says where and how much" {
	mkdir small
	mount -t tmpfs -o size=100m tmpfs small
	refused 1 "the file system of '/var/lib' has 100 MiB free, and the demo's blades need 300" \
		unshare -m sh -c 'mount --bind small /var/lib && tree/testbed demo'
}

@test "a demo without enough memory says how much its VMs need" {
	local own

	own=/sys/fs/cgroup/memory$(awk -F: '$2 ~ /(^|,)memory(,|$)/ {print $3}' /proc/self/cgroup)
	[ -e "$own/memory.limit_in_bytes" ] || skip "no memory controller of version 1"
	group=${own%/}/virtbed-front-$$
	mkdir "$group"
	echo $((1024 * 1048576)) >"$group/memory.limit_in_bytes"
	refused 1 "of memory are available, and the demo's VMs need 1700" \
		sh -c 'echo $$ >"$1/cgroup.procs" && exec tree/testbed demo' sh "$group"
}
