#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Users who react: simulated, measured with local schedulers that have no VMs, carried out again, and compared.

load run

setup() {
	run_set_up_scripted
	sed -i 's/^workload: .*/workload: {users: 3, think_mean_s: 0.5, duration_s: 8, seed: 1, utility_max: [1, 2, 3, 4]}/' "$config"
}

teardown() {
	run_tear_down_scripted
}

# No user has two tasks at a time: each task of a user arrives after the one before has ended. assert_one_each DIR
assert_one_each() {
	local early
	early=$(run_query "$1" "WITH of AS (SELECT e.run, json_extract(e.detail, '\$.user') AS user, t.task, t.arrival_s,
			coalesce(t.ended_s, 1e9) AS ended_s FROM event e
			JOIN task t ON t.run = e.run AND t.task = json_extract(e.detail, '\$.task')
			WHERE e.kind = 'user-submitted')
		SELECT count(*) FROM of a JOIN of b ON a.run = b.run AND a.user = b.user AND a.task < b.task
			WHERE b.arrival_s < a.ended_s")
	[ "$early" -eq 0 ]
	[ "$(run_query "$1" "SELECT count(DISTINCT json_extract(detail, '\$.user')) FROM event WHERE kind = 'user-submitted'")" -eq 3 ]
	[ "$(run_query "$1" "SELECT count(*) FROM event WHERE kind = 'user-submitted'")" -eq \
		"$(run_query "$1" "SELECT count(*) FROM task t JOIN run r USING (run)
			WHERE r.repeat = 1 OR r.measured")" ]
}

@test "users wait for their tasks in a simulation, which is carried out again as it is stored" {
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 3 --out "$out"
	assert_one_each "$out"
	"$virtbed" rerun "$out" --run 1 --json | jq -e '.identical'
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 3 --jobs 1 --json >one
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 3 --jobs 3 --json >three
	cmp one three
	# Another seed is other users.
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 3 --seed 7 --json >other
	! cmp -s one other || return 1
}

@test "a measured run has its users, is carried out again, and compared with its simulation" {
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	assert_one_each "$out"
	"$virtbed" rerun "$out" --json | jq -e '.identical and .counts.identical == 2'
	"$virtbed" simulate "$out/config.yaml" --limit 1 --trials 2 --out "$out-sim"
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'users_sha256'")" = \
		"$(run_query "$out-sim" "SELECT value FROM meta WHERE key = 'users_sha256'")" ]
	# The first task of each user is that of its simulation.
	local first="SELECT user, type, utility_max FROM (SELECT json_extract(e.detail, '\$.user') AS user, t.type, t.utility_max,
		row_number() OVER (PARTITION BY json_extract(e.detail, '\$.user') ORDER BY t.task) AS n FROM event e
		JOIN task t ON t.run = e.run AND t.task = json_extract(e.detail, '\$.task')
		WHERE e.run = 1 AND e.kind = 'user-submitted') WHERE n = 1 ORDER BY user"
	[ "$(run_query "$out" "$first")" = "$(run_query "$out-sim" "$first")" ]
	"$virtbed" compare "$out" "$out-sim" --json 2>/dev/null | jq -e '.simulated_on == "same arrivals"'
	# Other users are no repeats of these.
	sed -i 's/users: 3/users: 4/' "$config"
	run "$virtbed" run "$config" --out "$out" --resume --repeat 2
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"have other users than workload.users"* ]]
}

@test "a controller that is killed continues with the users as they were, and so does rerun" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'completed'"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT count(*) FROM event WHERE kind = 'resumed' AND detail NOT LIKE '%task%'")" -ge 0 ]
	assert_one_each "$out"
	"$virtbed" rerun "$out" --json | jq -e '.identical and .runs[0].restarts == 1'
}

@test "given tasks are replayed with the think times of their users" {
	sed -i 's/^workload: .*/workload: {arrivals: tasks.csv}/' "$config"
	# 2 s each where nothing waits: ann thinks 1 s, and then none; the last task is of no user.
	printf '%s\n' arrival_s,type,utility,user 1,IS.S.2,1,ann 4,IS.S.2,1,ann 5,IS.S.2,1,ann 4.5,IS.S.2,1 >tasks.csv
	"$virtbed" simulate "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	# Mapping events are every second: the first task runs from 1 to 3 s, the second from 4 to 6.
	[ "$(run_query "$out" "SELECT group_concat(arrival_s || '-' || ended_s, ' ') FROM (SELECT * FROM task ORDER BY task)")" = \
		"1.0-3.0 4.0-6.0 4.5-7.0 6.0-8.0" ]
	"$virtbed" rerun "$out" --json | jq -e '.identical'
	grep -qE 'user: .?ann' "$out/config.yaml"
	printf '1,IS.S.2,1,ann,more\n' >tasks.csv
	run "$virtbed" simulate "$config" --estimates "$estimates"
	[ "$status" -eq 2 ]
	[[ "$output" == *"line 1: user: more than 4 fields"* ]]
}

@test "what makes no users is refused with its key" {
	local workload
	while IFS='|' read -r workload words; do
		sed "s/^workload: .*/workload: {$workload, seed: 1, utility_max: [1]}/" "$config" >bad.yaml
		run "$virtbed" simulate bad.yaml --estimates "$estimates"
		echo "$workload: $output"
		[ "$status" -eq 2 ]
		[[ "$output" == *"$words"* ]]
	done <<-END
		users: 3, think_s: 1|workload.duration_s: missing
		users: 3, think_s: 1, think_mean_s: 1, duration_s: 8|workload.think_s: users think either
		users: 3, duration_s: 8, arrival_mean_s: 1|workload.arrival_mean_s: of tasks that arrive
		arrival_mean_s: 1, duration_s: 8, think_s: 1|workload.think_s: of users
		users: 20000, duration_s: 8|workload.users
	END
}
