#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemons under a service manager: what they tell it, what they do when told to reload, and that systemd takes
# their units. With local schedulers that have no VMs.

load lab
load run

setup() {
	root=$BATS_TEST_DIRNAME/../..
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	told=$BATS_TEST_TMPDIR/told
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	[ -z "${scheduler:-}" ] || kill -CONT "$scheduler" 2>/dev/null || true
	[ -z "${manager:-}" ] || kill "$manager" || true
	run_end_all "${run_name:-none}"
}

# Serves under a service manager, whose watchdog wants a word every two seconds.
serve_managed() {
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	sed -i 's/^workload:/service: {mapping_interval_s: 60, tasks_max: 9}\n&/' "$config"
	"$BATS_TEST_DIRNAME/service-manager.py" "$BATS_TEST_TMPDIR/notify" >"$told" 3>&- &
	manager=$!
	within 60 test -S "$BATS_TEST_TMPDIR/notify"
	# The tests may themselves run below a service manager, which is not theirs.
	unset SYSTEMD_EXEC_PID WATCHDOG_PID JOURNAL_STREAM
	NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify WATCHDOG_USEC=2000000 \
		run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket"
	within 120 grep -q '^READY=1' "$told"
}

# How often the manager was told this. times PATTERN
times() {
	grep -c "$1" "$told" || true
}

told_more() {
	[ "$(times "$1")" -gt "$2" ]
}

# The answer to a request. api PATH [OPTION...]
api() {
	curl -sS --fail --max-time 60 --unix-socket "$socket" "${@:2}" "http://x$1"
}

@test "a service says when it answers, that it is alive, and that it ends" {
	serve_managed
	api /v1/status | jq -e '.phase == "run"'
	grep -q "^STATUS=serving at unix:$socket" "$told"
	[ "$(times '^READY=1')" -eq 1 ]
	alive=$(times '^WATCHDOG=1')
	within 30 told_more '^WATCHDOG=1' "$alive"
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(times '^STOPPING=1')" -eq 1 ]
}

@test "a controller whose main loop stands still is started again" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes two minutes: ./testbed check --long"
	serve_managed
	kill -STOP "$(run_process virtbed-controller "$state")"
	# It does not answer a reload either, and systemd is notified of that.
	sed -i 's/^service:.*/service: {policy: fcfs, mapping_interval_s: 60, tasks_max: 9}/' "$config"
	kill -HUP "$run_pid"
	within 30 told_more '^RELOADING=1' 0
	run_wait_for "the controller has not said what became of the reload" 120
	within 30 told_more '^READY=1' 1
	run_wait_for "the controller does not answer: killing it" 240
	run_wait_for "the service continues" 120
	api /v1/status | jq -e '.phase == "run" and .policy == "fcfs"'
	sed -i 's/^service:.*/service: {policy: easy, mapping_interval_s: 20, tasks_max: 9}/' "$config"
	kill -HUP "$run_pid"
	run_wait_for "policy easy, mapping interval 20 s" 60
}

@test "a service reloads what may change and refuses the rest, and no task is lost" {
	serve_managed
	curl -sS --fail --unix-socket "$socket" -d '{"type": "CG.S.2", "count": 8}' http://x/v1/tasks
	! api /v1/tasks -d '{"type": "CG.S.2", "count": 2}' || return 1
	before=$(api /v1/tasks | jq -c '[.tasks[] | [.task, .type, .user]]')
	[ "$(api /v1/status | jq -r .policy)" = easy ]
	sed -i 's/^service:.*/service: {policy: fcfs, mapping_interval_s: 30, retention_days: 7, tasks_max: 10}/' "$config"
	kill -HUP "$run_pid"
	run_wait_for "policy fcfs, mapping interval 30 s, records kept for 7 days" 60
	within 30 told_more '^READY=1' 1
	[ "$(times '^RELOADING=1')" -eq 1 ]
	[ "$(api /v1/status | jq -r .policy)" = fcfs ]
	[ "$(run_query "$state" 'SELECT policy FROM run')" = fcfs ]
	[ "$(api /v1/tasks | jq -c '[.tasks[] | [.task, .type, .user]]')" = "$before" ]
	# A report knows when the service decided by which.
	"$virtbed" report "$state" | grep -q 'policies: easy until 20[^ ]*Z, then fcfs$'
	"$virtbed" report "$state" --json | jq -e '.[0].policies |
		map(.policy) == ["easy", "fcfs"] and .[0].from_s == 0 and .[0].until_s == .[1].from_s and
		.[1].from_s > 0 and .[1].until_s == null'
	# What cannot be read, makes no sense, or needs a restart.
	cp "$config" good
	for wrong in 's/^service:.*/service: {policy: nonsense}/; s/^/#/' 's/^service:.*/service: {policy: nonsense}/' \
		's/nodes: 4/nodes: 3/' 's/^service:.*/service: {policy: easy, tasks_max: 5}/'; do
		sed "$wrong" good >"$config"
		refused=$(grep -c "not reloaded" "$run_words" || true)
		ready=$(times '^READY=1')
		kill -HUP "$run_pid"
		run_wait_for "not reloaded, all is as before: $config" 60 $((refused + 1))
		within 30 told_more '^READY=1' "$ready"
		[ "$(api /v1/status | jq -r .policy)" = fcfs ]
	done
	grep -q "'nodes: 3' was 'nodes: 4' when it was started: only service.policy" "$run_words"
	grep -q "service.tasks_max: 5 is less than the 10 it runs with" "$run_words"
	cp good "$config"
	# What cannot be kept, the controller refuses.
	cp "$state/wanted.yaml" kept
	mv "$state/config.yaml" "$state/config.kept"
	mkdir "$state/config.yaml"
	sed 's/^service:.*/service: {policy: easy, mapping_interval_s: 5, tasks_max: 20}/' good >"$config"
	ready=$(times '^READY=1')
	kill -HUP "$run_pid"
	within 60 told_more '^STATUS=.*config.yaml' 0
	within 30 told_more '^READY=1' "$ready"
	[ "$(api /v1/status | jq -r .policy)" = fcfs ]
	[ "$(run_query "$state" 'SELECT policy FROM run')" = fcfs ]
	cmp "$state/wanted.yaml" kept
	rmdir "$state/config.yaml"
	mv "$state/config.kept" "$state/config.yaml"
	# It has forgotten that there were to be 20 tasks.
	sed 's/^service:.*/service: {policy: fcfs, mapping_interval_s: 30, retention_days: 7, tasks_max: 11}/' good >"$config"
	kill -HUP "$run_pid"
	run_wait_for "policy fcfs, mapping interval 30 s, .* up to 11 tasks" 60
	api /v1/tasks -d '{"type": "CG.S.2"}'
	# There is room for two more since it was reloaded.
	api /v1/tasks -d '{"type": "CG.S.2", "count": 2}'
	! api /v1/tasks -d '{"type": "CG.S.2"}' || return 1
	before=$(api /v1/tasks | jq -c '[.tasks[] | [.task, .type, .user]]')
	# It is what a controller that is started again goes by, too.
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "the service continues" 120
	within 60 told_more '^STATUS=serving .* policy fcfs' 0
	[ "$(api /v1/tasks | jq -c '[.tasks[] | [.task, .type, .user]]')" = "$before" ]
	[ "$(api /v1/status | jq -r .policy)" = fcfs ]
	# A controller that starts again has read the configuration, and gets it again as soon as it serves.
	scheduler=$(run_process virtbed-local-sched "$state")
	kill -STOP "$scheduler"
	continued=$(grep -c "the service continues" "$run_words")
	kill -9 "$(run_process virtbed-controller "$state")"
	# It waits some seconds for the local scheduler from here on, and starts to serve then.
	run_wait_for "the service continues" 120 $((continued + 1))
	sed -i 's/^service:.*/service: {policy: easy, mapping_interval_s: 20}/' "$config"
	reloading=$(grep -c "reloading '" "$run_words")
	kill -HUP "$run_pid"
	run_wait_for "reloading '" 60 $((reloading + 1))
	kill -CONT "$scheduler"
	run_wait_for "policy easy, mapping interval 20 s" 120
	[ "$(api /v1/status | jq -r .policy)" = easy ]
	[ "$(run_query "$state" 'SELECT policy FROM run')" = easy ]
	# Ended by an operator, it is not to be started again: systemd does that with what fails.
	api /v1/stop -X POST
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "the service ends: stopped on request" "$run_words"
}

@test "systemd takes the units" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	mkdir units
	cp "$root"/configs/systemd/*.service units/
	# Programs, users and manual pages that are not installed here are none of its business.
	sed -i "s|^Exec\([A-Za-z]*\)=/usr[^ ]*|Exec\1=/bin/true|; /^Documentation=/d" units/*.service
	for unit in virtbed-controller virtbed-controller-lab virtbed-local-sched@c1; do
		file=units/$unit.service
		case $unit in *@*) file=units/${unit%@*}@.service ;; esac
		run systemd-analyze verify --man=no "$file"
		[ "$status" -eq 0 ]
		! grep -E "^[^ ]*virtbed[^ ]*:[0-9]+: |Unknown" <<<"$output" || return 1
	done
	# Exposure as systemd reckons it, from 0 to 10: docs/how-to/service.md has the figure.
	# Policies from outside get namespaces of their own, which the controller's unit has to allow.
	systemd-analyze security --offline=true --threshold=24 units/virtbed-controller.service
	systemd-analyze security --offline=true --threshold=20 units/virtbed-local-sched@.service
}
