#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed serve`: tasks that people submit while it runs, and what is left of them when a part of it, or all
# of it, is killed. First with local schedulers that have no VMs, at the end on a real lab.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	run_end_all "$run_name"
	[ -z "${lab_of_test:-}" ] || "$virtbed_lab" down --name "$lab_of_test" || true
}

use_scripted() {
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	sed -i 's/^workload:/service: {mapping_interval_s: 60}\n&/' "$config"
}

serve() {
	run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket" "$@"
	run_wait_for "serving at unix:$socket" 120
}

# api METHOD PATH [JSON]: the answer, and its status in the last line of $BATS_TEST_TMPDIR/status
api() {
	local data=()
	[ $# -lt 3 ] || data=(-d "$3")
	curl -sS --max-time 60 --unix-socket "$socket" -X "$1" -o "$BATS_TEST_TMPDIR/answer" \
		-w '%{http_code}' "${data[@]}" "http://x$2" >"$BATS_TEST_TMPDIR/status"
	cat "$BATS_TEST_TMPDIR/answer"
}

# ok METHOD PATH STATUS [JSON]: the same where STATUS is what is expected
ok() {
	local wanted=$3
	if [ $# -ge 4 ]; then api "$1" "$2" "$4"; else api "$1" "$2"; fi
	[ "$(cat "$BATS_TEST_TMPDIR/status")" = "$wanted" ] || { echo "$1 $2: not $wanted"; return 1; }
}

# submit JSON: the numbers of the tasks, as [0,1]
submit() {
	ok POST /v1/tasks 201 "$1" | jq -c .tasks
}

# Waits until TASK is in STATE. wait_state TASK STATE [SECONDS]
wait_state() {
	within "${3:-120}" has_state "$1" "$2" || { api GET "/v1/tasks/$1"; cat "$run_words"; return 1; }
}

has_state() {
	[ "$(api GET "/v1/tasks/$1" | jq -r .state)" = "$2" ]
}

stop_service() {
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_nobody "$state"
	[ ! -e "$socket" ]
}

@test "what cannot be served is refused, and says why" {
	use_scripted
	sed -i 's/^service:.*/service: {policy: max-upt+filter:task:2.0}/' "$config"
	run "$virtbed" config check "$config"
	[ "$status" -eq 2 ]
	[[ $output == *"service.policy: 'max-upt+filter:task:2' goes by what is left of an energy budget"* ||
		$output == *"goes by what is left of an energy budget"* ]]
	sed -i 's/^service:.*/service: {policy: nonsense}/' "$config"
	run "$virtbed" serve "$config" --state "$state"
	[ "$status" -eq 2 ]
	[[ $output == *"service.policy: "*nonsense* ]]
	sed -i 's/^service:.*/service: {group: no-such-group-here}/' "$config"
	run "$virtbed" serve "$config" --state "$state"
	[ "$status" -eq 2 ]
	[[ $output == *"no group 'no-such-group-here'"* ]]
	sed -i '/^service:/d' "$config"
	run "$virtbed" serve "$config" --state "$state"
	[ "$status" -eq 2 ]
	[[ $output == *"no estimate for type 'IS.S.2'"*"virtbed profile"* ]]
	[[ $output != *"add --profile"* ]]
	[ ! -e "$state" ]
}

@test "a simulated cluster stands behind the real local scheduler, without root, image and VMs" {
	run_name=simulated-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	ok GET /v1/clusters 200 | jq -e '.clusters | length == 3 and all(.virt_type == "simulated" and .modelled_watts)'
	[ "$(submit '{"type": "LONG", "count": 2}')" = "[0,1]" ]
	[ "$(submit '{"type": "SHORT", "count": 60}' | jq length)" = 60 ]
	wait_state 61 completed
	ok GET /v1/tasks/61 200 | jq -e '.energy_j > 0 and .executed_s >= 0'
	ok GET /v1/tasks/61/output 200 | jq -e '.output | test("nothing was computed")'
	wait_state 0 running
	ok POST /v1/tasks/0/suspend 202 '{}'
	wait_state 0 suspended
	ok POST /v1/tasks/0/resume 202 '{}'
	wait_state 0 running
	# The controller dies: the clusters go on, and so do their tasks.
	kill -KILL "$(run_process virtbed-controller "$state")"
	run_wait_for "serving at unix:$socket" 60 2
	wait_state 1 running
	ok POST /v1/tasks/0/cancel 202 '{}'
	ok POST /v1/tasks/1/cancel 202 '{}'
	wait_state 0 killed
	wait_state 1 killed
	ok GET /v1/tasks/1 200 | jq -e '.attempts == 1'
	stop_service
}

@test "a script has whole nodes, as many as it asks for, wherever it goes" {
	run_name=simulated-nodes-$BASHPID
	sed "s/^name:.*/name: $run_name/; s/^types:/&\n\
  - {name: one, benchmark: script, cores: 2, memory_mib: 64, share: 0, time_s: 6000}\n\
  - {name: long-six, benchmark: script, nodes: 6, memory_mib: 64, share: 0, time_s: 9000}\n\
  - {name: six, benchmark: script, nodes: 6, memory_mib: 64, share: 0, time_s: 6000}\n\
  - {name: ten, benchmark: script, nodes: 10, memory_mib: 64, share: 0, time_s: 6000}/" \
		"$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	export VIRTBED_URI=unix:$socket
	ok GET /v1/clusters 200 | jq -e '[.clusters[] | .types | contains(["six"])] == [true, true, false]'
	echo 'echo' >job.sh
	# The first cluster has room for ten and six nodes, the second for six more.
	[ "$("$virtbed" submit --script job.sh --time 1h --nodes 10)" = 0 ]
	[ "$("$virtbed" submit --script job.sh --time 1h -N 6)" = 1 ]
	[ "$("$virtbed" submit --script job.sh --time 1h --nodes 6)" = 2 ]
	[ "$("$virtbed" submit --script job.sh --time 1h --cores 2)" = 3 ]
	for task in 0 1 2 3; do wait_state $task running; done
	ok GET /v1/tasks 200 | jq -e '[.tasks[] | .type] == ["ten", "six", "six", "one"] and
		([.tasks[] | .nodes | length] | .[:3]) == [10, 6, 6] and ([.tasks[1, 2] | .cluster] | sort) == ["s1", "s2"]'
	"$virtbed" queue | grep -E '\bten\b'
	"$virtbed" show 1 | grep six
	run -2 "$virtbed" submit --script job.sh --time 1h --nodes 17
	[[ $output == *"nodes: no cluster has 17 nodes; the largest has 16"* ]]
	run -2 "$virtbed" submit --script job.sh --time 1h --nodes 5
	[[ $output == *"no type for scripts has 5 nodes for 3600 s; known: one (2 cores, 6000 s), long-six (6 nodes, 9000 s), "* ]]
	ok POST /v1/tasks 400 '{"script": {}, "time_s": 5, "nodes": 6, "cores": 2}' | grep "leave out cores"
	ok POST /v1/tasks 400 '{"script": {}, "time_s": 5, "nodes": 0}' | grep "nodes: 0 is not a number from 1"
	ok POST /v1/tasks 400 '{"type": "six", "nodes": 6}' | grep "leave them out"
	ok GET /v1/tasks 200 | jq -e '.tasks | length == 4'
	"$virtbed" cancel 0-3
	for task in 0 1 2 3; do wait_state $task killed; done
	# Nothing came out, and nothing failed.
	"$virtbed" output 0 --files here
	stop_service
}

@test "tasks are submitted once, run, held, cancelled, and explained; nodes are drained" {
	use_scripted
	sed -i 's/repetitions: 10/repetitions: 600/' "$config" # what is to be looked at while it runs is not over before
	serve
	[ "$(submit '{"type": "IS.S.2", "count": 4, "key": "a", "name": "four"}')" = "[0,1,2,3]" ]
	[ "$(submit '{"type": "IS.S.2", "count": 4, "key": "a", "name": "four"}')" = "[0,1,2,3]" ]
	[ "$(submit '{"type": "CG.S.2", "held": true}')" = "[4]" ]
	for wrong in '{"type": "XX"}' '{}' '[]' '{"type": "IS.S.2", "count": 0}' '{"type": "IS.S.2", "rubbish": 1}' \
		'{"type": "IS.S.2", "constant_s": 5}' '{"type": "IS.S.2", "utility_max": -1}' 'rubbish' \
		'{"type": "IS.S.2", "deadline_s": 5, "zero_s": 6}' '{"type": "IS.S.2", "name": "a\nb"}'; do
		ok POST /v1/tasks 400 "$wrong"
	done
	ok POST /v1/tasks 400 '{"type": "XX"}' | grep "known: IS.S.2 CG.S.2"
	ok GET /v1/tasks 200 | jq -e --arg user "$(id -un)" \
		'.now_s > 0 and (.tasks | length == 5 and all(.user == $user) and .[0].name == "four" and .[4].held)'
	ok GET '/v1/tasks?state=waiting,planned&after=3' 200 | jq -e '[.tasks[].task] == [4]'
	ok GET '/v1/tasks?state=rubbish' 400
	ok GET /v1/tasks/4 200 | jq -e '.state == "waiting" and (.why | test("h[eo]ld"))'
	for task in 0 1 2 3; do wait_state $task completed; done
	ok GET /v1/tasks/0 200 | jq -e '.utility == 1 and .ended_s > .started_s and .energy_j > 0 and (.nodes | length > 0)'
	ok GET /v1/tasks/0/decisions 200 | jq -e '.decisions | length > 0 and all(.action.task == 0)'
	ok GET /v1/tasks/0/output 200 | jq -e '.task == 0 and .attempt == 1 and has("output")'
	ok GET /v1/tasks/4/output 404
	ok POST /v1/tasks/0/cancel 409 '{}'
	ok POST /v1/tasks/99/cancel 404 '{}'
	# A node that is drained gets nothing new; all of both clusters: nothing starts.
	for node in c1/0 c1/1 c1/2 c1/3 c2/0 c2/1; do
		ok POST "/v1/nodes/$node/drain" 202 '{"reason": "disk"}' |
			jq -e '(.state == "drained" or .state == "draining") and .reason == "disk"'
	done
	ok POST /v1/nodes/c1/9/drain 404 '{}'
	ok POST /v1/tasks/4/release 202 '{}'
	[ "$(submit '{"type": "IS.S.2", "deadline_s": 600}')" = "[5]" ]
	ok POST /v1/tasks/5/hold 202 '{}' | jq -e .held
	ok POST /v1/tasks/5/cancel 202 '{}' | jq -e '.state == "killed"'
	ok GET /v1/tasks/4 200 | jq -e '.state == "waiting" and (.why != null)'
	ok POST /v1/nodes/c1/0/undrain 202 '{}' | jq -e '.state == "idle" or .state == "busy"'
	ok POST /v1/nodes/c1/1/undrain 202 '{}'
	wait_state 4 running
	ok GET /v1/tasks/4 200 | jq -e '.cluster == "c1" and .nodes == [0, 1]'
	ok POST /v1/tasks/4/cancel 202 '{}'
	wait_state 4 killed
	ok GET /v1/status 200 | jq -e '.completed == 4 and .waiting == 0 and .running == 0'
	stop_service
	[ "$(run_query "$state" "SELECT count(*) FROM run WHERE ended_by IS NULL")" -eq 1 ]
	[ "$(run_query "$state" "SELECT count(*) FROM drain")" -eq 4 ]
	[ "$(run_query "$state" "SELECT count(*) FROM submission WHERE cancelled")" -eq 2 ]
	run_assert_decisions_of_service
}

@test "a higher priority goes first, whenever it came, and does so after a restart" {
	use_scripted
	serve
	for node in c1/0 c1/1 c1/2 c1/3 c2/0 c2/1; do ok POST "/v1/nodes/$node/drain" 202 '{}'; done
	[ "$("$virtbed" submit CG.S.2 --priority -5 --uri "unix:$socket")" = 0 ]
	[ "$(submit '{"type": "CG.S.2"}')" = "[1]" ]
	run ! grep PRIO <<<"$("$virtbed" queue 1 --uri "unix:$socket")"
	[ "$("$virtbed" submit CG.S.2 --priority 5 --uri "unix:$socket")" = 2 ]
	for wrong in 1.5 '"high"' 1000001; do
		ok POST /v1/tasks 400 "{\"type\": \"CG.S.2\", \"priority\": $wrong}" | grep priority
	done
	"$virtbed" queue --uri "unix:$socket" | grep PRIO
	ok GET /v1/tasks 200 | jq -e '[.tasks[].priority] == [-5, 0, 5]'
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "the service goes on" 120
	for node in c1/0 c1/1; do ok POST "/v1/nodes/$node/undrain" 202 '{}'; done
	for task in 0 1 2; do wait_state $task completed; done
	ok GET /v1/tasks 200 | jq -e '[.tasks | sort_by(.started_s)[].task] == [2, 1, 0]'
	stop_service
	run_assert_decisions_of_service
}

# What the command says while somebody serves: it checks all sums itself. assert_energy TASK...
assert_energy() {
	local by task
	for by in user task type cluster host policy day; do
		"$virtbed" energy --uri "unix:$socket" --by $by | grep "the sums equal the meters: .* J on"
	done
	"$virtbed" energy --uri "unix:$socket" --by day --json | jq -e --arg day "$(date -u +%F)" \
		'.equal and (.sums | length > 0) and any(.sums[]; .day == $day) and all(.hosts[]; .meter_uj == .counted_uj and .idle_uj > 0)'
	for task in "$@"; do
		within 30 has_used "$task"
	done
}

# What was used last is told with the next sample. has_used TASK
has_used() {
	"$virtbed" energy --uri "unix:$socket" --by task --json | jq -e --arg task "$1" \
		'[.sums[] | select(.task == $task) | .tasks_uj > 0] == [true]' >/dev/null
}

# The same of the stored intervals, one by one: whole, without a hole, from sample to sample of the meter.
assert_account() {
	local sql
	[ "$(run_query "$state" "SELECT count(*) FROM energy_interval WHERE tasks_uj > 0")" -gt 0 ]
	for sql in \
		"energy_interval WHERE to_uj - from_uj != idle_uj + tasks_uj + management_uj + unattributed_uj" \
		"energy_interval WHERE min(idle_uj, tasks_uj, management_uj, unattributed_uj) < 0" \
		"(SELECT run, host, sum(tasks_uj) AS tasks_uj, (SELECT max(n) FROM energy_part AS p WHERE p.run = i.run
			AND p.host = i.host AND p.n <= i.n) AS n FROM energy_interval AS i GROUP BY 1, 2, 4) AS i
			WHERE tasks_uj != (SELECT coalesce(sum(uj), 0) FROM energy_part AS p
			WHERE p.run = i.run AND p.host = i.host AND p.n = i.n)" \
		"(SELECT n - lag(n, 1, 0) OVER w AS step, from_uj - lag(to_uj, 1, from_uj) OVER w AS hole, mark FROM energy_interval
			WINDOW w AS (PARTITION BY run, host ORDER BY n)) WHERE step != 1 OR (hole != 0 AND mark IS NOT 'new-counter')" \
		"energy_interval AS i WHERE coalesce(mark, '') NOT IN ('unserved', 'new-counter') AND NOT EXISTS (SELECT 1 FROM sample AS s
			WHERE s.run = i.run AND s.host = i.host AND s.energy_uj = i.to_uj) AND to_s <= (SELECT max(time_s)
			FROM sample AS s WHERE s.run = i.run AND s.host = i.host)" \
		"(SELECT sum(meter_uj - idle_uj - management_uj - unattributed_uj) - (SELECT sum(uj) FROM energy_task) AS lost
			FROM energy_day) WHERE lost != 0" \
		"(SELECT sum(meter_uj) - (SELECT sum(before_uj + at_uj - begin_uj) FROM energy_meter) AS lost
			FROM energy_day) WHERE lost != 0" \
		"(SELECT sum(meter_uj) - (SELECT sum(to_uj - from_uj) FROM energy_interval) AS lost
			FROM energy_day) WHERE lost != 0"; do
		[ "$(run_query "$state" "SELECT count(*) FROM $sql")" -eq 0 ] || { echo "$sql"; return 1; }
	done
}

# What was decided can be decided again, from the store.
run_assert_decisions_of_service() {
	run_query "$state" "SELECT snapshot FROM decision ORDER BY id LIMIT 1" | "$virtbed" decide --json - | jq -cS . >decided
	run_query "$state" "SELECT actions FROM decision ORDER BY id LIMIT 1" | jq -cS . >stored
	diff stored decided
}

@test "whoever is killed: no task is lost, none runs twice, and what was told is kept" {
	use_scripted
	# Half a minute, so that it still runs when all is stopped; and four seconds.
	sed -i '/CG.S.2/s/repetitions: 10/repetitions: 60/; /IS.S.2/s/repetitions: 5/repetitions: 10/' "$config"
	serve
	for node in c2/0 c2/1 c1/2 c1/3; do ok POST "/v1/nodes/$node/drain" 202 '{}'; done
	[ "$(submit '{"type": "IS.S.2"}')" = "[0]" ]
	[ "$(submit '{"type": "CG.S.2", "count": 2, "key": "b"}')" = "[1,2]" ]
	[ "$(submit '{"type": "IS.S.2", "held": true}')" = "[3]" ]
	wait_state 0 running
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "controller died .signal 9" 120
	run_wait_for "the service goes on" 120
	[ "$(submit '{"type": "CG.S.2", "count": 2, "key": "b"}')" = "[1,2]" ]
	wait_state 0 completed
	wait_state 1 running
	within 30 has_used 1
	ok GET /v1/tasks/0 200 | jq -e '.attempts == 1'
	# In order: what ran begins anew at the next start, what waits waits, what is held is held.
	stop_service
	[ "$(run_query "$state" "SELECT state FROM task WHERE task = 1")" = unfinished ]
	sed -i '/CG.S.2/s/repetitions: 60/repetitions: 10/' "$config"
	serve
	grep -q "goes on at .* with 4 tasks" "$run_words"
	ok GET /v1/tasks/3 200 | jq -e '.held and .state == "waiting"'
	[ "$(submit '{"type": "CG.S.2", "count": 2, "key": "b"}')" = "[1,2]" ]
	wait_state 2 completed
	ok GET /v1/tasks/1 200 | jq -e '.state == "completed" and .attempts == 2'
	ok GET /v1/tasks/0 200 | jq -e '.state == "completed" and .attempts == 1 and .user != null'
	ok POST /v1/nodes/c2/0/undrain 202 '{}'
	# What they used before whatever died is theirs still, and of everything the sums are the meters'.
	assert_energy 0 1 2
	stop_service
	assert_account
	[ "$(run_query "$state" "SELECT count(DISTINCT attempt) FROM energy_part WHERE task = 1")" -eq 2 ]
	[ "$(run_query "$state" "SELECT count(*) FROM run")" -eq 1 ]
	[ "$(run_query "$state" "SELECT count(*) FROM drain")" -eq 3 ]
	# The same directory is no other configuration's.
	sed -i 's/^name: .*/name: other/' "$config"
	run "$virtbed" serve "$config" --state "$state" --listen "unix:$socket"
	[ "$status" -eq 2 ]
	[[ $output == *"is the state of service"* ]]
}

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
	[[ $output == *"no type for scripts has 1 cores for 7200 s"* ]]
	run "$virtbed" submit short
	[ "$status" -eq 2 ]
	[[ $output == *"script: missing"* ]]
	ok GET /v1/tasks/0/files 200 | jq -e '.files == [] and .skipped == []'
	ok GET '/v1/tasks/4/output?from=x' 400
	[ "$(stat -c %a "$state/scripts" "$state/scripts/4.json")" = $'700\n600' ]
	# Nobody needs those any more whose tasks have all ended.
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
	run_wait_for "the service goes on" 120
	wait_state 1 completed 240
	ok GET /v1/tasks/0 200 | jq -e '.state == "completed" and .attempts == 1 and .energy_j > 0'
	ok GET /v1/tasks/0/output 200 | jq -e '.output | test("IS")'
	scripts_work
	assert_energy 0 1
	ok GET '/v1/energy?by=rubbish' 400
	# Of both daemons: the counters go on, and what nobody could tell is an interval of its own.
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
