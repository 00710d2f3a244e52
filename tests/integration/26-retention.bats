#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a local scheduler keeps of tasks that have ended: as long as a controller may ask, and then their names alone.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	cd "$BATS_TEST_TMPDIR" || return 1
	unset VIRTBED_LIBEXEC VIRTBED_TOKEN_FILE
	export VIRTBED_URI=unix:$socket
	run_name=retention-$BASHPID
	# A task takes 2 s or 10 s; what is over is kept for 20 s.
	cat >"$config" <<END
name: $run_name
clusters:
  - {name: s1, nodes: 2, cores: 1, memory_mib: 128, simulated: {idle_w: 60, seed: 1}}
types:
  - {name: SHORT, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}
  - {name: LONG, benchmark: cg, class: S, cores: 1, memory_mib: 96, share: 0}
estimates:
  - {type: SHORT, cluster: s1, etc_s: 2, eec_j: 100}
  - {type: LONG, cluster: s1, etc_s: 10, eec_j: 500}
workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 120, baseline_s: 1}
service: {policy: easy, retention_days: 2.315e-4}
END
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
}

teardown() {
	run_end_all "$run_name"
}

# What the local scheduler answers. local_sched PATH [CURL-ARGUMENT...]
local_sched() {
	local listen
	listen=$(tr '\0' '\n' <"/proc/$(run_process virtbed-local-sched "$state")/cmdline" | sed -n 's/^unix://p')
	curl -sS --max-time 60 --unix-socket "$listen" "http://x$1" "${@:2}"
}

# Whether its tasks hold jq's FILTER. tasks_hold FILTER
tasks_hold() {
	local_sched /v1/tasks | jq -e ".now_ns as \$now | .tasks | $1" >/dev/null
}

# An answer of the controller. controller PATH
controller() {
	curl -sS --fail --max-time 60 --unix-socket "$socket" "http://x$1"
}

# Task 0 is in a list as it is by itself: the text that lists have of it is kept.
is_listed_as_it_is() {
	controller '/v1/tasks?limit=1' >listed
	controller /v1/tasks/0 | jq -e --slurpfile listed listed '. as $it | $listed[0].tasks[0] |
		.task == 0 and (to_entries | all($it[.key] == .value))'
}

task_is() {
	[ "$("$virtbed" queue --json "$1" | jq -r '.tasks[0].state')" = "$2" ]
}

# Whether of task ID there is nothing but its name. Another task makes the controller ask, which else takes half a minute.
is_over() {
	"$virtbed" submit SHORT --wait >/dev/null
	[ "$(local_sched "/v1/tasks/$1" -o /dev/null -w '%{http_code}')" = 410 ] || return 1
	[ -z "$(find "$state/state/s1/tasks" -name "$1.*")" ] && tasks_hold "all(.id != \"$1\")" &&
		local_sched '/v1/events?after=0' | jq -e --arg id "$1" 'all(.events[]; .task != $id)' >/dev/null
}

@test "what the controller has on record goes after its time, and is not run again" {
	"$virtbed" submit SHORT --count 3 --wait
	id=$(local_sched /v1/tasks | jq -r '.tasks[0].id')
	[ -n "$(ls "$state/state/s1/tasks")" ]
	body='{"type": "SHORT", "benchmark": "is", "class": "S", "ranks": 1, "repetitions": 1, "nodes": [0], "deadline_s": 9}'
	is_listed_as_it_is
	within 60 is_over "$id"
	local_sched "/v1/tasks/$id" -X PUT -d "$body" -w '\n%{http_code}' | tail -n 1 | grep -x 410
	task_is 0 completed
	is_listed_as_it_is
	run "$virtbed" output 0
	[ "$status" -ne 0 ]
	[[ $output == *"no local scheduler has output of task 0 any more"* ]]
	# So it is after a restart of both, and numbers of events continue.
	last=$(local_sched '/v1/events?after=0' | jq .last)
	[ "$last" -gt 8 ]
	kill -9 "$(run_process virtbed-local-sched "$state")"
	run_wait_for "died .signal 9.*starting it again" 60
	within 60 eval '[ "$(local_sched "/v1/events?after=0" | jq .last)" -gt "$last" ]'
	local_sched "/v1/tasks/$id" -X PUT -d "$body" -w '\n%{http_code}' | tail -n 1 | grep -x 410
	"$virtbed" submit SHORT --wait
	[ "$(run_query "$state" "SELECT max(attempts) FROM task")" = 1 ]
}

@test "a controller that was away for longer finds all that it has not seen" {
	"$virtbed" submit LONG --count 2
	within 60 task_is 0 running
	within 60 task_is 1 running
	controller=$(run_process virtbed-controller "$state")
	kill -STOP "$controller"
	# Twice as long as what is over is kept.
	id=$(local_sched /v1/tasks | jq -r '.tasks[0].id')
	within 60 tasks_hold 'length == 2 and all(.state == "ended" and $now - .ended_ns > 40e9)'
	[ "$(ls "$state/state/s1/tasks" | wc -l)" -eq 2 ]
	kill -9 "$controller"
	run_wait_for "serving at unix:$socket" 60 2
	within 60 task_is 0 completed
	within 60 task_is 1 completed
	"$virtbed" output 0
	[ "$(run_query "$state" "SELECT max(attempts) FROM task")" = 1 ]
	within 60 is_over "$id"
	task_is 0 completed
}
