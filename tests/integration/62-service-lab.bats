#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed serve` on a real lab: tasks and scripts that people submit, and what is left of them when a part of it, or
# all of it, is killed. 22-service.bats has more of it, without VMs.

bats_require_minimum_version 1.5.0
load lab
load run
load service

# Scripts from the command line, on the service that runs: their output as it comes, files in and out.
scripts_work() {
	export VIRTBED_URI=unix:$socket
	echo input >data
	printf '%s\n' 'echo "early $VIRTBED_INDEX $1"' 'sleep 1000' >waits.sh
	printf '%s\n' 'cat data; mkdir out; tr a-z A-Z <data >out/big; echo "$@" >out/words; id -u' >works.sh
	"$virtbed" submit --script waits.sh --time 5m --count 2 --key twice -- now >numbers
	[ "$(cat numbers)" = $'2\n3' ]
	"$virtbed" output 3 --follow >late 2>late.err 3>&- &
	"$virtbed" output 2 --follow >early 2>early.err 3>&- &
	follower=$!
	within 240 grep -q "^early 0 now$" early
	[ "$(api GET /v1/tasks/2 | jq -r .state)" = running ]
	[ "$("$virtbed" output 2)" = "early 0 now" ]
	"$virtbed" cancel 3 2
	status=0
	wait "$follower" || status=$?
	[ "$status" -eq 1 ]
	grep "task 2 did not complete: killed" early.err
	"$virtbed" submit --script works.sh --type short --stage-in data --stage-out out --stage-out none --wait -- 'a  b' c
	[ "$("$virtbed" output 4 --follow)" = "input"$'\n'"$(id -u)" ]
	run --separate-stderr "$virtbed" output 4 --files fetched
	[ "$status" -eq 1 ]
	[[ $stderr == *"not kept: none: No such file or directory"* ]]
	[ "$(sort <<<"$output")" = $'out/big\nout/words' ]
	[ "$(cat fetched/out/big fetched/out/words)" = $'INPUT\na  b c' ]
	run "$virtbed" output 4 --files fetched
	[ "$status" -eq 1 ]
	[[ $output == *"File exists"* ]]
	run "$virtbed" submit --script works.sh --time 2h
	[ "$status" -eq 2 ]
	[[ $output == *"no type for scripts has 1 core for 7200 s"* ]]
	run "$virtbed" submit short
	[ "$status" -eq 2 ]
	[[ $output == *"script: missing"* ]]
	ok GET /v1/tasks/0/files 200 | jq -e '.files == [] and .skipped == []'
	ok GET '/v1/tasks/4/output?from=x' 400
	[ "$(stat -c %a "$state/scripts" "$state/scripts/4.json")" = $'700\n600' ]
	# Scripts whose tasks have all ended are not needed any more.
	kill -9 "$(run_process virtbed-controller "$state")"
	within 120 no_scripts_left
}

no_scripts_left() {
	[ -z "$(ls "$state/scripts")" ]
}

@test "on real VMs: a task is submitted, waits, survives its controller, and ends with output" {
	run_use_lab
	run_name=$(lab_name serve)
	lab_of_test=$run_name
	lab_write_config "$config" 1
	sed -i "s/^name: .*/name: $run_name/; s/duration_s: 20/duration_s: 20, baseline_s: 4/
		s/class: S, cores: 1/&, repetitions: 4/" "$config"
	sed -i 's/^types:/&\n  - {name: short, benchmark: script, cores: 1, memory_mib: 64, share: 0, time_s: 600}/' "$config"
	echo "estimates: [{type: IS.S.1, cluster: c1, etc_s: 5, eec_j: 100}]" >"$estimates"
	serve
	[ "$(submit '{"type": "IS.S.1", "count": 2}')" = "[0,1]" ]
	wait_state 0 running 240
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "the service continues" 120
	wait_state 1 completed 240
	ok GET /v1/tasks/0 200 | jq -e '.state == "completed" and .attempts == 1'
	within 60 has_energy 0
	ok GET /v1/tasks/0/output 200 | jq -e '.output | test("IS")'
	scripts_work
	assert_energy 0 1
	ok GET '/v1/energy?by=rubbish' 400
	# Of both daemons: the counters continue, and energy without a report is an interval of its own.
	kill -9 "$(run_process virtbed-local-sched "$state")"
	run_wait_for "cluster 'c1' died .signal 9.*starting it again" 120
	last=$(submit '{"type": "IS.S.1"}' | jq '.[0]')
	wait_state "$last" completed 240
	assert_energy 0 1 "$last"
	stop_service
	assert_account
	serve
	last=$(submit '{"type": "IS.S.1"}' | jq '.[0]')
	wait_state "$last" completed 240
	assert_energy 0 1 "$last"
	stop_service
	assert_account
	[ "$(run_query "$state" "SELECT count(*) FROM energy_interval WHERE mark = 'missed'")" -gt 0 ]
	[ "$(run_query "$state" "SELECT count(*) FROM energy_interval WHERE mark = 'unserved'")" -gt 0 ]
	remains=$(lab_remains "$run_name")
	[ -z "$remains" ] || { echo "$remains"; return 1; }
}
