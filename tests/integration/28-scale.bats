#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A service with many simulated clusters, as benchmarks/service measures it at full size: here few, and only
# that nothing is lost or refused.

@test "a service of simulated clusters answers, loses nothing when it is killed, and is restarted" {
	local build=${VIRTBED_BUILD:-$BATS_TEST_DIRNAME/../../build}
	unset VIRTBED_LIBEXEC
	"$BATS_TEST_DIRNAME/../../benchmarks/service/service-speed" "$build" --clusters 6 --nodes 8 --tasks 200 \
		--running 15 --rate 40 --seconds 3 --restart-tasks 1500 --keep "$BATS_TEST_TMPDIR/kept" \
		>"$BATS_TEST_TMPDIR/result.json" 2>"$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR"/{words,result.json}; return 1; }
	jq -e '.kill.lost == 0 and .kill.twice == 0 and .kill.acknowledged > 0 and .api.errors == 0 and .fill.mapping_events >= 1 and
		.counts.running >= 15 and .restart.tasks >= 1500 and .counts_at_end.running >= 15' "$BATS_TEST_TMPDIR/result.json"
	! pgrep -af "virtbed-(controller|local-sched) .*$BATS_TEST_TMPDIR"
}

@test "tasks that take no time are all done once, with and without a controller" {
	local build=${VIRTBED_BUILD:-$BATS_TEST_DIRNAME/../../build}
	unset VIRTBED_LIBEXEC
	"$BATS_TEST_DIRNAME/../../benchmarks/service/throughput-speed" "$build" --clusters 2 --nodes 4 --tasks 80 \
		--intervals 0.1,0.5 --repeat 1 --keep "$BATS_TEST_TMPDIR/kept" >"$BATS_TEST_TMPDIR/result.json" \
		2>"$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR"/{words,result.json}; return 1; }
	jq -e '[.baseline, .intervals[]] | length == 3 and all(.tasks_per_s > 0) and all(.[].rounds[]; .lost == 0 and .twice == 0)' \
		"$BATS_TEST_TMPDIR/result.json"
	jq -e '[.intervals[].rounds[].mapping_events] | length == 2 and all(. >= 1)' "$BATS_TEST_TMPDIR/result.json"
	! pgrep -af "virtbed-(controller|local-sched) .*$BATS_TEST_TMPDIR"
}
