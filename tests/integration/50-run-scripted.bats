#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed run`'s processes: controller and supervisor, with local schedulers that have no VMs, so that
# these run everywhere. 60-run.bats does the same with real ones.

load run

setup() {
	run_use_scripted
	cd "$BATS_TEST_TMPDIR" || return 1
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	out=$BATS_TEST_TMPDIR/out
	run_write_config "$config"
	run_write_estimates "$estimates"
}

teardown() {
	run_end_all "$run_name"
}

@test "profile and runs in one go" {
	run_start run "$config" --profile --out "$out" --json
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(jq '.runs | length' "$run_results")" -eq 4 ]
	jq -e '[.runs[] | select(.limit == 0.6) | .ended_by] | all(. == "limit")' "$run_results"
	jq -e '.runs | all(.energy_j <= .limit_j + 1e-3 and .idle_w > 119 and .idle_w < 121)' "$run_results"
	run_assert_counts "$out"
	grep -q "count: [2-9]" "$out/estimates.yaml"
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'kind'")" = measured ]
	run_assert_nobody "$out"
	[ ! -e "$out/controller.sock" ]
}

@test "energy in the store is the integral of its samples" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.6 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	run "$virtbed" report "$out" --format json
	[ "$status" -eq 0 ]
	jq -e '[.. | .energy_difference_uj? // empty] | length > 0 and all(fabs <= 1)' <<<"$output"
}

@test "profile alone writes estimates and prints them" {
	run_start profile "$config" --repeat 1 --out "$BATS_TEST_TMPDIR/e.yaml" --json
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(jq '.estimates | length' "$run_results")" -eq 4 ]
	jq -e '.estimates | all(.etc_s > 1.9 and .etc_s < 5 and .count >= 1)' "$run_results"
	run_start run "$config" --estimates "$BATS_TEST_TMPDIR/e.yaml" --policy easy --limit 0.3 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
}

@test "a controller that is killed is started again and its run goes on" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running'"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait_for "controller died .signal 9"
	run_wait_for "run 1 goes on"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ "$(run_query "$out" "SELECT count(*) FROM run")" -eq 1 ]
	[ "$(run_query "$out" "SELECT count(*) FROM event WHERE kind = 'resumed'")" -eq 2 ]
	[ "$(run_query "$out" "SELECT max(attempts) FROM task")" -eq 1 ]
	run_assert_nobody "$out"
}

@test "a local scheduler that is killed is started again and its tasks are tried again" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running' AND cluster = 'c2'"
	kill -9 "$(run_process virtbed-local-sched "$out/state/c2")"
	run_wait_for "cluster 'c2' died .signal 9"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'scheduler-died'")" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'lost'")" ]
}

@test "an interrupted experiment is resumed; what ended stays" {
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out"
	run_wait_for "run 1 of 2"
	run_wait_row "$out" "SELECT 1 FROM task WHERE run = 2 AND state = 'running'"
	kill -INT "$run_pid"
	run_wait
	[ "$run_status" -eq 1 ]
	grep -q "to go on: virtbed run .* --resume" "$run_words"
	run_assert_nobody "$out"
	local before
	before=$(run_query "$out" "SELECT * FROM run WHERE run = 1")
	run_start run "$config" --out "$out" --resume --json
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT * FROM run WHERE run = 1")" = "$before" ]
	[ "$(run_query "$out" "SELECT ended_by FROM run WHERE run = 2")" = aborted ]
	[ "$(jq '.runs | length' "$run_results")" -eq 2 ]
	run_assert_counts "$out"
}

@test "a run directory with a long path works" {
	out=$BATS_TEST_TMPDIR/$(printf 'd%.0s' $(seq 120))
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.3 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
}

@test "local schedulers that run already are used, and left alone" {
	local address=unix:$BATS_TEST_TMPDIR/own.sock own
	sed -i "s|  - name: c2|&\n    local_scheduler: $address|" "$config"
	"$VIRTBED_LIBEXEC/virtbed-local-sched" --config "$config" --cluster c2 --state "$BATS_TEST_TMPDIR" \
		--listen "$address" 3>&- &
	own=$!
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.3 --out "$out"
	run_wait
	kill -0 $own
	kill $own
	[ "$run_status" -eq 0 ]
	[ ! -e "$out/logs/local-sched-c2.log" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM task WHERE cluster = 'c2'")" ]
}

@test "a second run of the same name is refused" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.3 --out "$out"
	run_wait_for "run directory"
	run "$virtbed" run "$config" --estimates "$estimates" --out "$BATS_TEST_TMPDIR/other"
	[ "$status" -eq 1 ]
	[[ "$output" == *"another run of '$run_name'"* ]]
	run_wait
	[ "$run_status" -eq 0 ]
}

@test "a local scheduler that hangs is away, and the run goes on without it" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	sed -i 's/duration_s: 12/duration_s: 60/; s/duration_s: 8/duration_s: 50/; s/budget_j: 420/budget_j: 42000/' "$config"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running' AND cluster = 'c2'"
	kill -STOP "$(run_process virtbed-local-sched "$out/state/c2")"
	run_wait_for "cluster 'c2' has not answered"
	kill -KILL "$(run_process virtbed-local-sched "$out/state/c2")"
	run_wait
	[ "$run_status" -eq 0 ]
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'node-down'")" ]
	run_assert_counts "$out"
}

@test "a full disk ends the run with a line, and nobody is left" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to make a small file system"
	mkdir "$out"
	mount -t tmpfs -o size=300k tmpfs "$out" || skip "cannot mount"
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	umount "$out"
	[ "$run_status" -eq 1 ]
	grep -qiE "cannot be written|full|No space" "$run_words"
	run_assert_nobody "$out"
}

@test "a local scheduler that cannot start is one clear error" {
	ln -sf /bin/false "$VIRTBED_LIBEXEC/virtbed-local-sched"
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	[ "$run_status" -eq 1 ]
	grep -q "local scheduler of cluster 'c[12]' died (exit status 1) again and again" "$run_words"
	run_assert_nobody "$out"
}

@test "a local scheduler that refuses its input is not tried again" {
	printf '#!/bin/sh\necho "no guest image" >&2\nexit 2\n' >"$BATS_TEST_TMPDIR/refuses"
	chmod +x "$BATS_TEST_TMPDIR/refuses"
	ln -sf "$BATS_TEST_TMPDIR/refuses" "$VIRTBED_LIBEXEC/virtbed-local-sched"
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	[ "$run_status" -eq 2 ]
	grep -q "no guest image" "$run_words"
	! grep -q "again" "$run_words"
}

# bad NAME PATTERN ARGUMENT...: exits with 2, says PATTERN, starts nothing.
bad() {
	local pattern=$1
	shift
	run "$virtbed" run "$@"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" =~ $pattern ]]
	[ ! -e "$out/run.sqlite" ]
}

@test "bad input exits with 2 and says what to do" {
	bad "one configuration"
	bad "none.yaml" "$BATS_TEST_TMPDIR/none.yaml" --out "$out"
	bad "no estimate for type 'IS.S.2'.*--profile" "$config" --out "$out"
	bad "best-ever" "$config" --estimates "$estimates" --policy best-ever --out "$out"
	bad "--limit" "$config" --estimates "$estimates" --limit 1.5 --out "$out"
	bad "--limit" "$config" --estimates "$estimates" --limit 1,,2 --out "$out"
	bad "negative" "$config" --estimates "$estimates" --repeat -1 --out "$out"
	bad "runs/" "$config" --resume
	bad "Unknown option" "$config" --frobnicate
}

@test "a run directory that is in use is not written over" {
	mkdir "$out"
	touch "$out/run.sqlite"
	run "$virtbed" run "$config" --estimates "$estimates" --out "$out"
	[ "$status" -eq 2 ]
	[[ "$output" == *--resume* ]]
}
