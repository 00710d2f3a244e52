# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed serve` for tests: starts one, asks it, submits to it, holds its account of energy against its meters, and
# always ends it. Load it with `load lab`, `load run` and `load service`; it has setup() and teardown().

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
	[ ! -f "$BATS_TEST_TMPDIR/place" ] || rm -rf "$(cat "$BATS_TEST_TMPDIR/place")"
}

serve() {
	run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket" "$@"
	run_wait_for "serving at unix:$socket" 120
}

# api METHOD PATH [JSON]: the answer, and its status in the last line of $BATS_TEST_TMPDIR/status
api() {
	local data=()
	[ $# -lt 3 ] || data=(-d "$3")
	local told code=0
	: >"$BATS_TEST_TMPDIR/answer"
	told=$(curl -sS --max-time 60 --unix-socket "$socket" -X "$1" -o "$BATS_TEST_TMPDIR/answer" \
		-w '%{http_code} %{size_download} %{content_type}' "${data[@]}" "http://x$2") || code=$?
	echo "${told%% *}" >"$BATS_TEST_TMPDIR/status"
	[ $code -ne 0 ] || { echo "$1 $2 $told"; cat "$BATS_TEST_TMPDIR/answer"; echo; } >>"$service_answers"
	cat "$BATS_TEST_TMPDIR/answer"
	return $code
}

# What was answered to all that api() asked in a file's tests is what the controller's document says, key by key.
teardown_file() {
	[ ! -s "$service_answers" ] || "$BATS_TEST_DIRNAME/check-api.py" --answers \
		"$BATS_TEST_DIRNAME/../../docs/reference/controller-api.json" "$service_answers"
}
service_answers=$BATS_FILE_TMPDIR/answers

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

# Whether an ended task has used energy, and nothing of it is still to be reported. has_energy TASK
has_energy() {
	api GET "/v1/tasks/$1" | jq -e '.energy_kind != "provisional" and .energy_j > 0' >/dev/null
}

stop_service() {
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_nobody "$state"
	[ ! -e "$socket" ]
}

# The answer of the command while a service runs: it checks all sums itself. assert_energy TASK...
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

# What was used last is asked for every five seconds. has_used TASK
has_used() {
	"$virtbed" energy --uri "unix:$socket" --by task --json | jq -e --arg task "$1" \
		'[.sums[] | select(.task == $task) | .tasks_uj > 0] == [true]' >/dev/null
}

# Checks the stored intervals, one by one: whole, without a hole, from sample to sample of the meter.
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
		"energy_interval AS i WHERE coalesce(mark, '') NOT IN ('unserved', 'new-counter', 'missed') AND NOT EXISTS (SELECT 1 FROM sample AS s
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
