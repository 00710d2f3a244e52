#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The small form of configs/one-machine-preemption.yaml: critical tasks take the nodes of ordinary ones on
# real VMs, in memory and through disk; the run is simulated and compared.

load lab
load run

setup() {
	run_use_lab
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	out=$BATS_TEST_TMPDIR/out
	write_config
}

teardown() {
	run_end_lab "$name"
}

# Two blades, three VMs, a spare for each. By its seed two ordinary tasks come before 0.3 s, so that at 1 s
# one goes to each cluster, and two critical ones between 4.2 and 4.5 s: at 5 s, when both ordinary tasks
# have more than half of their estimates left and nothing is idle, each takes the nodes of an ordinary task. What they
# earn falls with their delay, so overheads cost something. A run ends when its tasks have.
write_config() {
	name=$(lab_name preempt)
	cat >"$config" <<END
name: $name
clusters:
  - {name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 1200, base_mhz: 2660,
     preemption: {keep: memory, spares: 2}, hosts: [{blade: b1}]}
  - {name: c2, nodes: 1, cores: 2, memory_mib: 128, max_mhz: 600, base_mhz: 2660,
     preemption: {keep: disk, spares: 1}, hosts: [{blade: b2}]}
types:
  - {name: critical, benchmark: is, class: S, cores: 2, repetitions: 4, memory_mib: 96, share: 0.5,
     may_preempt: true, utility_max: 8, constant_until: 1, zero_at: 40}
  - {name: ordinary, benchmark: is, class: S, cores: 2, repetitions: 40, memory_mib: 96, share: 0.5,
     preemptible: true, utility_max: 1, constant_until: 1, zero_at: 20}
workload: {arrival_mean_s: 1, duration_s: 6, seed: 41394, utility_max: [1]}
experiment:
  policies: [max-util, max-util-preempt-greedy]
  limits: [1]
  budget_j: 400000
  mapping_interval_s: 1
  duration_s: 600
  baseline_s: 1
  task_deadline_s: 500
lab:
  fit: yes
  blades:
    - {name: b1, cpu_cores: 1, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 0.6, idle_w: 60, core_w: 300}
END
	cat >"$estimates" <<'END'
estimates:
  - {type: critical, cluster: c1, etc_s: 5, eec_j: 100}
  - {type: critical, cluster: c2, etc_s: 5, eec_j: 250}
  - {type: ordinary, cluster: c1, etc_s: 30, eec_j: 200}
  - {type: ordinary, cluster: c2, etc_s: 30, eec_j: 500}
END
}

# What is on record of the run with preemption; shown when something fails.
show_record() {
	run_query "$out" "SELECT task, n, cluster, nodes, to_nodes, requested_s, suspended_s, since_s, freeze_s, save_s,
		restore_s, resume_s FROM suspension"
	run_query "$out" "SELECT run, task, type, state, cluster, attempts, exec_s, etc_s, utility, reason FROM task"
	tail -n 20 "$out"/logs/*.log
}

# Every task of the run with preemption ended once and verified, the ordinary ones after they were suspended.
assert_preempted() {
	local run
	run=$(run_query "$out" "SELECT run FROM run WHERE policy = 'max-util-preempt-greedy'")
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE run = $run AND state = 'completed' AND attempts = 1")" = 4 ]
	[ "$(run_query "$out" "SELECT count(DISTINCT cluster) FROM suspension WHERE run = $run
		AND suspended_s IS NOT NULL AND since_s IS NOT NULL")" = 2 ]
	[ -z "$(run_query "$out" "SELECT 1 FROM suspension WHERE run <> $run")" ]
	# Stretches add up: from start to end, less the time between, is what it executed.
	[ "$(run_query "$out" "SELECT count(*) FROM task JOIN
		(SELECT run, task, attempt, sum(since_s - (suspended_s - save_s)) AS still_s FROM suspension GROUP BY 1, 2, 3) s
		ON s.run = task.run AND s.task = task.task AND s.attempt = task.attempts
		WHERE abs(ended_s - started_s - still_s - exec_s) < 0.05")" = 2 ]
}

# Both suspensions are in the tables, and those of c2 went through a disk.
assert_reported() {
	"$virtbed" report "$out" | grep -F "Suspended tasks, by type"
	"$virtbed" report "$out" --json >"$out/report.json"
	jq -e '.[0].suspensions | (.types | length) == 1 and
		(.types[0] | .type == "ordinary" and .tasks == 2 and .suspended == .resumed and .still_s > 0) and
		any(.steps[]; .cluster == "c1" and .step == "freeze") and
		any(.steps[]; .cluster == "c2" and .step == "restore" and .median_s > 0)' "$out/report.json"
}

@test "critical tasks take the nodes of ordinary ones, which are resumed; simulated and compared" {
	run_start run "$config" --estimates "$estimates" --out "$out" --json
	run_wait
	show_record
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	assert_preempted
	assert_reported
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 5 --out "$out-sim"
	run "$virtbed" compare --simulate "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"Preemption: what its overheads change"* ]]
	# What was measured delays the simulated tasks too.
	"$virtbed" compare --simulate "$out" "$out-sim" --json | jq -e '.overheads | .samples >= 2 and .from == "runs" and
		any(.rows[]; .policy == "max-util-preempt-greedy" and .with_suspensions >= 2 and
			.without_suspensions >= 2 and .with_utility < .without_utility) and
		any(.rows[]; .policy == "max-util" and .with_suspensions == 0 and .with_utility == .without_utility)'
	run_assert_nobody "$out"
	remains=$(lab_remains "$name")
	[ -z "$remains" ] || { echo "$remains"; return 1; }
}
