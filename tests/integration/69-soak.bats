#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Hours of a service in minutes, as benchmarks/service/soak does days of it: with all that people do to one, and what kills it.

soak() {
	local build=${VIRTBED_BUILD:-$BATS_TEST_DIRNAME/../../build}
	unset VIRTBED_LIBEXEC
	"$BATS_TEST_DIRNAME/../../benchmarks/service/soak" "$build" --keep "$BATS_TEST_TMPDIR/kept" "$@" \
		>"$BATS_TEST_TMPDIR/result.json" 2>"$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; return 1; }
	! pgrep -af "virtbed-(controller|local-sched) .*$BATS_TEST_TMPDIR"
}

@test "an hour of a service that people use and that is killed loses nothing" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "at 120 times the clock a busy machine is too late: ./testbed check --long"
	soak --hours 1 --minutes 0.5
	jq -e '.tasks.lost == 0 and .tasks.twice == 0 and .energy_adds_up and .done.suspend > 0 and .done.drain > 0 and
		.done.cancel > 0 and .done.hold > 0 and .done.reload > 0 and .watchers.events > 0 and (.growth | length) > 12' \
		"$BATS_TEST_TMPDIR/result.json"
}

@test "three days of it, in which nothing grows but what is kept" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes twelve minutes: ./testbed check --long"
	soak
	jq -e 'all(.growth[]; .grows == false)' "$BATS_TEST_TMPDIR/result.json"
}
