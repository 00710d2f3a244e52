#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Tasks with hard deadlines on the queues of real VMs (docs/how-to/pruning.md), some
# of which are dropped; the run is simulated and compared.

load lab
load run

setup() {
	run_use_lab
	config=$BATS_TEST_TMPDIR/config.yaml
	out=$BATS_TEST_TMPDIR/out
	write_config
}

teardown() {
	run_end_lab "$name"
}

# Two machines. The first task can be on time nowhere; the others have time.
write_config() {
	name=$(lab_name prune)
	cat >"$config" <<END
name: $name
clusters:
  - {name: m1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 1200, base_mhz: 2660, hosts: [{blade: b1}]}
  - {name: m2, nodes: 1, cores: 2, memory_mib: 128, max_mhz: 600, base_mhz: 2660, hosts: [{blade: b2}]}
types:
  - {name: short, benchmark: is, class: S, cores: 2, repetitions: 4, memory_mib: 96, share: 0.5,
     utility_max: 1, constant_until: 3, zero_at: 3}
  - {name: long, benchmark: is, class: S, cores: 2, repetitions: 400, memory_mib: 96, share: 0.5,
     utility_max: 1, constant_until: 3, zero_at: 3}
environment:
  pruning:
    bin_s: 0.1
    queue_length: 3
    left_out: 0
    list:
      - {type: long, arrival_s: 0.2, deadline_s: 10}
      - {type: short, arrival_s: 0.3, deadline_s: 90}
      - {type: short, arrival_s: 0.4, deadline_s: 90}
      - {type: short, arrival_s: 0.5, deadline_s: 90}
      - {type: short, arrival_s: 0.6, deadline_s: 90}
    entries:
      - {type: short, machine: m1, samples: [1.5, 2, 3]}
      - {type: short, machine: m2, samples: [1.5, 2, 3]}
      - {type: long, machine: m1, samples: [50, 60]}
      - {type: long, machine: m2, samples: [50, 60]}
experiment:
  policies: [pam, mm]
  limits: [1]
  mapping_interval_s: 1
  duration_s: 120
  baseline_s: 1
  task_deadline_s: 90
lab:
  fit: yes
  blades:
    - {name: b1, cpu_cores: 1, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 0.6, idle_w: 60, core_w: 300}
END
}

# What is on record; shown when something fails.
show_record() {
	run_query "$out" "SELECT run, task, type, state, cluster, attempts, queued_n, started_s, ended_s, deadline_s, exec_s,
		chance, threshold, reason FROM task"
	tail -n 20 "$out"/logs/*.log
}

# Short tasks are on time, one after the other on each machine. PAM never lets the long one in; MM does, and it
# is taken off its machine at its deadline.
assert_recorded() {
	[ "$(run_query "$out" "SELECT group_concat(utility, ' ') FROM run")" = "4.0 4.0" ]
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'completed' AND type = 'short'
		AND queued_n > 0 AND ended_s <= deadline_s AND chance > 0")" = 8 ]
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'dropped' AND type = 'long'
		AND reason IS NOT NULL AND chance = 0 AND threshold IS NOT NULL AND ended_s >= deadline_s")" = 2 ]
	[ "$(run_query "$out" "SELECT count(*) FROM task JOIN run USING (run) WHERE state = 'dropped'
		AND CASE policy WHEN 'mm' THEN attempts = 1 AND exec_s > 0 ELSE attempts = 0 END")" = 2 ]
	[ "$(run_query "$out" "SELECT count(*) FROM task a JOIN task b USING (run, cluster)
		WHERE a.queued_n < b.queued_n AND a.ended_s > b.started_s")" = 0 ]
}

# Stored decisions can be made again, and explained: here a decision that was taken while a cluster executed. There is
# one on a machine of any speed: the long task waits until its deadline, and PAM is asked whenever a task ends.
assert_decided() {
	local id snapshot
	id=$(run_query "$out" "SELECT max(decision.id) FROM decision JOIN run USING (run) WHERE policy = 'pam'
		AND coalesce(json_extract(snapshot, '\$.queues[0].start_s'),
			json_extract(snapshot, '\$.queues[1].start_s')) IS NOT NULL")
	[ -n "$id" ]
	snapshot=$(run_query "$out" "SELECT snapshot FROM whole_decision WHERE id = $id")
	[ "$("$virtbed" decide - --json <<<"$snapshot" | jq -c .)" = \
		"$(run_query "$out" "SELECT actions FROM decision WHERE id = $id" | jq -c .)" ]
	"$virtbed" decide - --explain --json <<<"$snapshot" | jq -e 'any(.[]; .kind == "judge" and .mean_s > 0 and
		.chance >= 0 and .threshold >= 0 and has("skewness"))'
}

# A simulation records the tasks of trial 1, with what was dropped and why.
assert_simulated() {
	[ "$(run_query "$out-sim" "SELECT count(*) FROM task JOIN run USING (run) WHERE repeat = 1")" = 10 ]
	[ "$(run_query "$out-sim" "SELECT count(*) FROM task WHERE state = 'dropped' AND type = 'long'
		AND reason IS NOT NULL AND chance = 0 AND threshold IS NOT NULL")" = 2 ]
	[ "$(run_query "$out-sim" "SELECT count(*) > 0 FROM decision")" = 1 ]
}

@test "tasks take turns on queues of VMs, and leave at their deadlines; simulated and compared" {
	run_start run "$config" --out "$out" --json
	run_wait
	show_record
	[ "$run_status" -eq 0 ]
	assert_recorded
	assert_decided
	"$virtbed" report "$out" | grep -F "Dropped tasks, by reason"
	"$virtbed" simulate "$config" --trials 3 --out "$out-sim"
	run "$virtbed" compare "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" != *"cannot be simulated"* && "$output" = *"from simulated repeats"* ]]
	[ "$("$virtbed" compare "$out" "$out-sim" --json | jq -r .simulated_on)" = "same arrivals" ]
	assert_simulated
	run_assert_nobody "$out"
	remains=$(lab_remains "$name")
	[ -z "$remains" ] || { echo "$remains"; return 1; }
}

# The queues are executed while the controller is dead, and its start again is put off until all deadlines have passed.
@test "what was on time while the controller was dead counts" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	sed -i '/type: long, arrival_s/d; s/deadline_s: 90/deadline_s: 60/; s/policies: .*/policies: [mm]/' "$config"
	run_start run "$config" --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'queued' AND queued_n = 4" 120
	kill -STOP "$run_pid"
	kill -9 "$(run_process virtbed-controller "$out")"
	ended_s=$((SECONDS + 62))
	until [ $SECONDS -ge $ended_s ]; do sleep 1; done
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'queued'")" -ge 1 ]
	kill -CONT "$run_pid"
	run_wait
	show_record
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'completed' AND ended_s <= deadline_s")" = 4 ]
	run_assert_nobody "$out"
}
