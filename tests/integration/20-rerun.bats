#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed rerun`: runs that were measured, with local schedulers that have no VMs, and that were simulated,
# are carried out again from their stores.

load run

setup() {
	run_set_up_scripted
}

teardown() {
	run_tear_down_scripted
}

# What is carried out again of DIR is as it is stored; the LACKING other runs are told. assert_identical DIR RUNS
# [LACKING]
assert_identical() {
	local status_wanted=0
	[ "${3:-0}" -eq 0 ] || status_wanted=2
	run "$virtbed" rerun "$1"
	echo "$output"
	[ "$status" -eq "$status_wanted" ]
	[ "$(grep -c "all as stored" <<<"$output")" -eq "$2" ]
	run "$virtbed" rerun "$1" --json
	[ "$status" -eq "$status_wanted" ]
	jq -e --argjson n "$2" --argjson lacking "${3:-0}" '.identical == ($lacking == 0) and
		.counts == {identical: $n, divergent: 0, lacking: $lacking} and ([.runs[] | select(.events) |
		.ended and .decisions > 0 and .divergence == null] | all)' <<<"$output"
}

@test "a measured run, and its simulation, are carried out again as they are stored" {
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	assert_identical "$out" 4
	"$virtbed" simulate "$out/config.yaml" --trials 2 --out "$out-sim"
	assert_identical "$out-sim" 4 4 # trial 2 has no inputs
	"$virtbed" rerun "$out-sim" --run 1 --json | jq -e '.identical'
	run_altered "$out"
	sqlite3 "$out/run.sqlite" "UPDATE run SET tasks_completed = tasks_completed + 1 WHERE run = 2"
	run "$virtbed" rerun "$out" --run 2
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *": tasks_completed is "* ]]
}

@test "the history of a measured run is left after a decision, and the rest is simulated" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	local event
	event=$("$virtbed" rerun "$out" --list --json | jq '[.[] | select(.decided)][2].event')
	"$virtbed" rerun "$out" --list | grep "^run 1, event $event at .* s: .*decided$"
	run "$virtbed" rerun "$out" --from "$event" --policy max-upr
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"run 1: measured until event $event at "*", simulated from then on; 100 %"* && "$output" == *"100 %  max-upr "* ]]
	"$virtbed" rerun "$out" --from "$event" --json | jq -e --argjson n "$event" \
		'.forked.event == $n and .forked.measured and .forked.time_s >= 0 and .result.policy == "easy"'
	run "$virtbed" rerun "$out" --from 1000000
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"the run has ended by that event"* ]]
	run "$virtbed" rerun "$out" --policy max-upr
	[ "$status" -eq 2 ]
}

@test "a run whose controller is killed twice meanwhile is carried out again over its restarts" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM event WHERE kind = 'launched'"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait_row "$out" "SELECT 1 FROM event WHERE kind = 'resumed'"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'completed'"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait
	[ "$run_status" -eq 0 ]
	assert_identical "$out" 1
	[ "$("$virtbed" rerun "$out" --json | jq '.runs[0].restarts')" -eq 2 ]
}

@test "an environment without types, which stores no decisions, is carried out again as it is stored" {
	"$virtbed" simulate "$BATS_TEST_DIRNAME/../../configs/papers/pruning-fig9.yaml" --trials 1 --out "$out"
	[ "$(run_query "$out" "SELECT count(*) FROM decision")" -eq 0 ]
	assert_identical "$out" 2
	run_altered "$out"
	sqlite3 "$out/run.sqlite" "UPDATE input_pack SET sums = sums + 1 WHERE run = 2"
	run "$virtbed" rerun "$out" --run 2
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *": sums is "*" in the store, and "*" here" ]]
}

@test "what was altered in a store is named, with exit status 1" {
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 1 --out "$out"
	run_altered "$out"
	sqlite3 "$out/run.sqlite" "UPDATE decision SET actions = json_set(actions, '\$[0].task', 7) WHERE id =
		(SELECT min(id) FROM decision WHERE run = 2 AND json_array_length(actions) > 0)"
	run "$virtbed" rerun "$out"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$(grep -c "all as stored" <<<"$output")" -eq 3 ]
	[[ "$output" == *"run 2 ("*"event "*" (time at "*"task 7: actions[0].task is 7 in the store, and "*" here"* ]]
	run "$virtbed" rerun "$out" --run 1
	[ "$status" -eq 0 ]
	# Damage hides no other run.
	sqlite3 "$out/run.sqlite" "UPDATE input_pack SET inputs = x'0102' WHERE run = 1"
	run "$virtbed" rerun "$out"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"run 1 ("*"the inputs from number 1 on are damaged"* ]]
	[ "$(grep -c "all as stored" <<<"$output")" -eq 2 ]
	run "$virtbed" rerun "$out" --json
	[ "$status" -eq 1 ]
	jq -e '(.identical | not) and .counts == {identical: 2, divergent: 2, lacking: 0} and .runs[0].damaged' \
		<<<"$output"
	sqlite3 "$out/run.sqlite" "UPDATE run SET policy = 'nothing' WHERE run = 1"
	run "$virtbed" rerun "$out" --json
	[ "$status" -eq 1 ]
	jq -e '.counts == {identical: 2, divergent: 1, lacking: 1} and .runs[0].lacks' <<<"$output"
}

@test "a store of an older virtbed is refused with what it lacks" {
	mkdir "$out"
	run_altered "$out"
	sqlite3 "$out/run.sqlite" <"$BATS_TEST_DIRNAME/../unit/store/old/10.sql"
	run "$virtbed" rerun "$out"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"the store is of version 10: an older virtbed wrote it, and stored neither the inputs"* ]]
	run "$virtbed" rerun "$BATS_TEST_TMPDIR/nowhere"
	[ "$status" -eq 2 ]
	run "$virtbed" rerun
	[ "$status" -eq 2 ]
}
