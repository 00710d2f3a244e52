#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A service's limit of energy per window on a real lab: the VM of a task stands still when the limit is reached, and
# runs again when the window turns. 29-energy-limit.bats has more of it, on simulated clusters.

bats_require_minimum_version 1.5.0
load lab
load run
load service

# One blade with two nodes. A task takes one of them, is expected to use 25 J in a window's length, and draws up to 40 W: the
# limit is over in a second or two, and in a window also where the machine is so busy that a VM has a twentieth of a core. Its
# work is over after some windows. What an emulated blade's meter says is the mean of a second.
write_config() {
	run_name=$(lab_name limit)
	cat >"$config" <<END
name: $run_name
clusters:
  - {name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 400, base_mhz: 1000,
     preemption: {keep: memory, spares: 1}, hosts: [{blade: b1}]}
types:
  - {name: LONG, benchmark: is, class: S, cores: 1, repetitions: 500, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20, baseline_s: 2, task_deadline_s: 900}
service: {policy: easy, energy_limit_j: 40, energy_window_s: 10, meter_refresh_s: 1}
lab:
  blades:
    - {name: b1, cpu_cores: 0.8, idle_w: 60, core_w: 100}
END
	echo "estimates: [{type: LONG, cluster: c1, etc_s: 120, eec_j: 300}]" >"$estimates"
}

# Most of the window under way is to come: what is refused at its begin is not allowed by its end.
is_early() {
	api GET /v1/energy | jq -e '.window.end_s - .now_s > 6' >/dev/null
}

# Task 1 waits: what it needs is more than the limit less what is spent and committed, and that is said.
is_refused() {
	local n='([0-9.]+)'
	"$virtbed" explain 1 --uri "unix:$socket" >explained
	[[ $(head -n 1 explained) =~ \
		"energy: needs 25.0 J, "$n" J left of 40.0 J ("$n" spent, "$n" committed), for another "[0-9]+" s"$ ]] &&
		jq -ne "[0, 40 - ${BASH_REMATCH[2]} - ${BASH_REMATCH[3]}] | max - ${BASH_REMATCH[1]} | fabs < 0.2" >/dev/null
}

# Task 0 is in STATE and its VM, as libvirt says, in the other. is_both STATE DOMSTATE
is_both() {
	has_state 0 "$1" && [ "$(virsh -q -c "$uri" domstate "$vm")" = "$2" ]
}

stands_still() {
	is_both suspended paused &&
		api GET /v1/tasks/0 | jq -e '.why | . != null and test("^energy: the limit of 40.0 J is used up")' >/dev/null
}

# Of each window: the joules above IDLE watts by the meter's samples, and those that were of no task. windows IDLE
windows() {
	run_query "$state" "WITH w AS (SELECT begin_s, lead(begin_s, 1, 1e9) OVER (ORDER BY begin_s) AS end_s FROM
		(SELECT 0 AS begin_s UNION SELECT time_s FROM event WHERE kind = 'window')),
		s AS (SELECT lag(time_s) OVER w AS from_s, time_s AS to_s, energy_uj - lag(energy_uj) OVER w AS uj
			FROM sample WINDOW w AS (PARTITION BY host ORDER BY seq))
		SELECT (SELECT total((uj * 1e-6 / (to_s - from_s) - $1) * (min(to_s, end_s) - max(from_s, begin_s)))
			FROM s WHERE from_s < end_s AND to_s > begin_s),
			(SELECT total(management_uj + unattributed_uj) * 1e-6 FROM energy_interval
			WHERE from_s < end_s AND to_s > begin_s) FROM w"
}

# No window exceeded the limit by more than what is said that it can be, but for what VMs without tasks used, which no limit
# stops. While a suspension is under way it is not known yet how long it takes: to be tried again.
is_kept() {
	local words
	api GET /v1/energy >energy
	words=$(jq -r '"\(.hosts[0].idle_w) \(.window.limit_j) \(.window.bound_j) \(.window.overshoot_j)"' energy)
	windows "${words%% *}" >windows
	echo "idle, limit, bound, overshoot: $words; windows: $(tr '\n' ' ' <windows)" >kept
	awk -F '|' -v words="$words" '
		BEGIN { split(words, word, " ") }
		$1 > word[2] + word[3] + $2 { exit failed = 1 }
		$2 > other { other = $2 }
		END { exit failed || NR < 2 || word[3] <= 0 || word[4] > word[3] + other }' windows
}

# In every window the parts of the account are what the blade's counter rose by from its first to its last sample, and it is
# the local scheduler's own counter that they are of.
assert_windows_add_up() {
	[ "$(run_query "$state" "SELECT count(*) > 1 AND min(rose = parts) FROM (SELECT max(to_uj) - min(from_uj) AS rose,
		sum(idle_uj + tasks_uj + management_uj + unattributed_uj) AS parts FROM energy_interval AS i
		GROUP BY (SELECT count(*) FROM event WHERE kind = 'window' AND time_s < i.to_s))")" = 1 ]
	run_query "$state" "SELECT json_group_array(to_uj) FROM energy_interval" >intervals
	curl -sS --fail --max-time 60 --unix-socket "$state/ls-0.sock" 'http://x/v1/samples?after=0' |
		jq -e --slurpfile intervals intervals '$intervals[0] - [.samples[].energy_uj] == [] and ($intervals[0] | length > 9)'
}

@test "on real VMs: a task stands still at the limit of a window, and runs again when it turns" {
	run_use_lab
	write_config
	lab_of_test=$run_name
	serve
	within 60 is_early
	[ "$(submit '{"type": "LONG", "count": 2}')" = "[0,1]" ]
	within 120 is_refused || { cat explained; return 1; }
	"$virtbed" cancel 1 --uri "unix:$socket"
	run_wait_row "$state" "SELECT 1 FROM suspension WHERE task = 0" 120
	uri=$(lab_uri "$run_name" b1)
	vm=virtbed-$run_name-c1-n$(run_query "$state" "SELECT nodes FROM suspension WHERE task = 0 AND n = 1")
	within 120 stands_still
	within 120 is_both running running
	run_wait_row "$state" "SELECT 1 FROM suspension WHERE task = 0 AND n = 2 AND suspended_s IS NOT NULL" 120
	within 60 is_kept || { cat kept; return 1; }
	cat kept
	[ "$(run_query "$state" "SELECT count(*) > 0 AND min(detail->>'estimate_j' > detail->>'left_j' AND
		abs(detail->>'limit_j' - detail->>'spent_j' - detail->>'committed_j' - detail->>'left_j') < 1e-6)
		FROM event WHERE kind = 'refused'")" = 1 ]
	# The rest at once.
	sed -i "s/energy_limit_j: 40/energy_limit_j: 100000/" "$config"
	kill -HUP "$run_pid"
	run_wait_for ", at most 100000 J in 10 s" 120
	wait_state 0 completed 240
	ok GET /v1/tasks/0 200 | jq -e '.attempts == 1 and .suspensions >= 2'
	within 60 has_energy 0
	ok GET /v1/tasks/0/output 200 | jq -e '.output | test("Verification *= *SUCCESSFUL")'
	ok GET /v1/tasks/1 200 | jq -e '.state == "killed" and .attempts == 0'
	assert_energy 0
	assert_windows_add_up
	stop_service
	assert_account
	remains=$(lab_remains "$run_name")
	[ -z "$remains" ] || { echo "$remains"; return 1; }
}
