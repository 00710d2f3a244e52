#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A service's limit of energy per window, in real time, on a simulated cluster: tasks wait and are suspended for it, and
# are resumed when the window turns; and what was used stays used, whichever process is killed.

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
}

teardown() {
	run_end_all "$run_name"
}

# One host of four nodes. A SHORT task is expected to take 4 s and 300 J, a DENSE one 200 s and 6000 J; with SPEED 10
# that is 20 s at ten times the power that was expected. write_config SERVICE [SPEED]
write_config() {
	run_name=limit-$BASHPID
	cat >"$config" <<END
name: $run_name
clusters:
  - {name: s1, nodes: 4, cores: 1, memory_mib: 128, simulated: {speed: ${2:-1}, idle_w: 60, seed: 1}}
types:
  - {name: SHORT, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 0.5}
  - {name: DENSE, benchmark: ep, class: S, cores: 1, memory_mib: 96, share: 0.5}
estimates:
  - {type: SHORT, cluster: s1, etc_s: 4, eec_j: 300}
  - {type: DENSE, cluster: s1, etc_s: 200, eec_j: 6000}
workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1, 2, 3, 4]}
experiment:
  policies: [easy]
  limits: [1]
  budget_j: 1000
  mapping_interval_s: 1
  duration_s: 120
  baseline_s: 2
  task_deadline_s: 600
service: {policy: easy, $1}
END
}

serve() {
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
}

api() {
	curl -sS --fail --max-time 60 --unix-socket "$socket" "http://x$1" "${@:2}"
}

submit() {
	api /v1/tasks -d "$1" | jq -c .tasks
}

# wait_task TASK FILTER [SECONDS]: until jq's FILTER holds of it
wait_task() {
	local end=$((SECONDS + ${3:-60}))
	until api "/v1/tasks/$1" | jq -e "$2" >/dev/null; do
		[ $SECONDS -lt $end ] || { api "/v1/tasks/$1"; api /v1/power | jq .window; cat "$run_words"; return 1; }
		sleep 0.1
	done
}

# As wait_task(), for the window under way. wait_window FILTER [SECONDS]
wait_window() {
	wait_power ".window | $1" "${2:-60}" || { cat "$run_words"; return 1; }
}

# Until a window begins.
wait_turn() {
	wait_window ".end_s > $(api /v1/power | jq .window.end_s)"
}

# As wait_task(), for the meters. wait_power FILTER [SECONDS]
wait_power() {
	local end=$((SECONDS + ${2:-60}))
	until api /v1/power | jq -e "$1" >/dev/null; do
		[ $SECONDS -lt $end ] || { api /v1/power | jq 'del(.energy, .hosts[].samples)'; return 1; }
		sleep 0.1
	done
}

# Until the account has begun, with the first whole interval of the meter.
wait_account() {
	local end=$((SECONDS + 60))
	until api /v1/energy | jq -e '.hosts | length == 1' >/dev/null; do
		[ $SECONDS -lt $end ] || { api /v1/energy; return 1; }
		sleep 0.1
	done
}

# What events of KIND say, a line each. details KIND
details() {
	run_query "$state" "SELECT detail FROM event WHERE kind = '$1' ORDER BY rowid"
}

# Whether a filter of jq holds of what is read; says what that was where it does not. holds [ARGUMENT...] FILTER
holds() {
	cat >seen
	jq -e "$@" seen >/dev/null || { echo "not so: ${*: -1}"; jq -c 'del(.energy?, .hosts[]?.samples)' seen; return 1; }
}

# reload SERVICE PATTERN: the section, and what is said of it
reload() {
	local said
	said=$(grep -cE "$2" "$run_words" || true)
	sed -i "s/^service:.*/service: {policy: easy, $1}/" "$config"
	kill -HUP "$run_pid"
	run_wait_for "$2" 60 $((said + 1))
}

# The curve of energy is never below 0, and ends no lower than what was used, whenever it is asked for: until 800 J were.
curve_holds() {
	local end=$((SECONDS + 60))
	while api /v1/power >power &&
		jq -e 'all(.energy[]; .[1] >= 0) and (.energy == [] or .energy[-1][1] > .energy_j - 1)' power >/dev/null; do
		jq -e '.energy_j > 800' power >/dev/null && return
		[ $SECONDS -lt $end ] || break
		sleep 0.1
	done
	jq -c '.energy_j, .energy' power
	return 1
}

@test "a limit that nothing is held against is refused" {
	write_config "energy_limit_j: 1000, energy_window_s: 172800, retention_days: 1"
	run "$virtbed" config check "$config"
	[ "$status" -eq 2 ]
	[[ $output == *"service.energy_window_s: 172800 is longer than service.retention_days keeps what was used: 86400 s"* ]]
	write_config "energy_limit_j: 1000"
	sed -i 's|simulated: .*|hosts: [{name: h1, uri: "test:///default"}]}|' "$config"
	run "$virtbed" config check "$config"
	[ "$status" -eq 2 ]
	[[ $output == *"service.energy_limit_j: host 'h1' of cluster 's1' has no meter"* ]]
}

@test "tasks wait for energy, and are resumed when the window turns" {
	write_config "energy_limit_j: 1000, energy_window_s: 12"
	serve
	wait_turn # what is looked at below is all of one window
	[ "$(submit '{"type": "SHORT", "count": 10}')" = "[0,1,2,3,4,5,6,7,8,9]" ]
	wait_task 9 '.why | test("^energy: needs 300.0 J, ([0-9.]*) J left of 1000.0 J .*, for another [0-9]* s$")'
	"$virtbed" queue | grep 'energy: needs 300.0 J'
	"$virtbed" explain 9 | grep 'task 9 (SHORT) is waiting: energy: needs 300.0 J'
	"$virtbed" energy >energy
	grep '^energy limit: [0-9.]* J of 1000.0 J used' energy
	grep 'refused for want of energy$' energy
	"$virtbed" top --once | grep '^energy limit: '
	api /metrics >metrics
	! command -v promtool || promtool check metrics <metrics
	grep '^virtbed_window_limit_joules 1000$' metrics
	# The meter reports the draw of a launch, which the estimates do not know of: the forecast is as exact as the bound.
	api /v1/energy | holds '.window.refusals > 0 and .window.committed_j >= 0 and (.window.exhausted | not) and
		.window.forecast_j <= .window.limit_j + .window.bound_j'
	curve_holds
	wait_task 9 '.state == "completed"'
	run_wait_row "$state" "SELECT 1 WHERE (SELECT count(*) FROM task WHERE state = 'completed' AND attempts = 1) = 10"
	# The numbers of each refusal add up, and no more than three tasks, 900 J, began in a window.
	details refused | holds -s 'length > 0 and all(.estimate_j == 300 and .left_j < 300 and
		(.limit_j - .spent_j - .committed_j - .left_j | fabs) < 1e-6)'
	bound=$(api /v1/power | jq .window.bound_j)
	details window | holds -s --argjson bound "$bound" 'length >= 3 and any(.refusals > 0) and
		all(.limit_j == 1000 and .spent_j <= 1000 + $bound)'
	[ -z "$(run_query "$state" "SELECT 1 FROM suspension")" ]
	run_query "$state" "SELECT max(n) FROM (SELECT count(*) AS n FROM task GROUP BY
		(SELECT count(*) FROM event WHERE kind = 'window' AND event.time_s <= task.started_s))" | grep -x '[123]'
}

@test "what draws more than was expected stands still at the limit until the window turns" {
	write_config "energy_limit_j: 1000, energy_window_s: 10" 10
	serve
	[ "$(submit '{"type": "DENSE"}')" = "[0]" ]
	wait_task 0 '.state == "suspended" and (.why | test("^energy: the limit of 1000.0 J is used up"))'
	wait_task 0 '.state == "completed"' 120
	run_wait_row "$state" "SELECT 1 FROM task WHERE task = 0 AND state = 'completed' AND attempts = 1"
	[ "$(run_query "$state" "SELECT count(*) FROM suspension WHERE task = 0 AND by_person = 0")" -ge 2 ]
	# By no more than what can be: the most that is drawn, times the time until it stands still.
	api /v1/power | holds '.window | .overshoot_j <= .bound_j and .reaction_s > 0 and (.power_w - 300 | fabs) < 1'
	details exhausted | holds -s 'length >= 2 and all(.limit_j == 1000)'
}

@test "a window resumes its tasks after the controller has died, too" {
	write_config "energy_limit_j: 1000, energy_window_s: 10" 10
	serve
	[ "$(submit '{"type": "DENSE"}')" = "[0]" ]
	wait_task 0 '.state == "suspended"'
	"$virtbed" drain s1/0-3 --reason "for a while"
	wait_task 0 '.why == "it resumes as soon as its cluster has idle nodes"'
	kill -KILL "$(run_process virtbed-controller "$state")"
	run_wait_for "serving at unix:$socket" 60 2
	wait_task 0 '.why == "it resumes as soon as its cluster has idle nodes"'
	"$virtbed" undrain s1/0-3
	wait_task 0 '.state == "running"'
}

@test "what was used stays used when daemons die, and limits change by a reload" {
	# A window of 30 days: it does not turn meanwhile.
	write_config "energy_limit_j: 100000, energy_window_s: 2592000" 10
	serve
	wait_account
	[ "$(submit '{"type": "DENSE", "count": 2}')" = "[0,1]" ]
	wait_window '.spent_j > 300 and (.exhausted | not)'
	reload "energy_limit_j: 500, energy_window_s: 2592000" ", at most 500 J in 2592000 s"
	wait_window '.exhausted'
	wait_task 0 '.state == "suspended"'
	wait_task 1 '.state == "suspended"'
	# What was measured of a limit stays with it when something else is changed. The counters come to the same energy
	# but for microjoules, as the local scheduler's clock is translated at each answer.
	over_j=$(api /v1/power | jq ".window.overshoot_j - 0.001")
	reload "energy_limit_j: 500, energy_window_s: 2592000, retention_days: 61" "kept for 61 days, at most 500 J in 2592000 s"
	api /v1/power | holds ".window | .exhausted and .overshoot_j >= $over_j"
	api /v1/tasks/1/suspend -X POST -d '{}'
	wait_task 1 '.why == "a user suspended it"'
	wait_power '.hosts | all(.watts < 61)'
	spent=$(api /v1/power | jq .window.spent_j)
	# The controller alone.
	kill -KILL "$(run_process virtbed-controller "$state")"
	run_wait_for "serving at unix:$socket" 60 2
	wait_window ".exhausted and (.spent_j - $spent | fabs) < 60"
	wait_task 0 '.state == "suspended" and (.why | test("^energy: "))'
	wait_task 1 '.why == "a user suspended it"'
	# All of it: suspended tasks begin again, when they may.
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
	serve
	wait_window ".exhausted and (.spent_j - $spent | fabs) < 60"
	wait_task 0 '.why | test("^energy: ")'
	# More, and then as much as they want.
	reload "energy_limit_j: 50000, energy_window_s: 2592000" ", at most 50000 J in 2592000 s"
	wait_task 0 '.state == "running"'
	reload "mapping_interval_s: 1" ", any energy"
	api /v1/power | holds '.window == null'
	[[ $("$virtbed" energy) != *"energy limit"* ]]
	wait_task 0 '.state == "completed"'
}
