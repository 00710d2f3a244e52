#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The small form of configs/one-machine-sharing.yaml: tasks share three hosts of one cluster on real VMs, and a
# person has one of them migrated while it runs.

load lab
load run

setup() {
	lab_require
	lab_require_image
	cd "$BATS_TEST_TMPDIR" || return 1
	unset VIRTBED_LIBEXEC
	export VIRTBED_IMAGE=$lab_image
	# The tasks' lengths are those of the emulator, also where KVM works.
	export VIRTBED_VIRT_TYPE=qemu
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	out=$BATS_TEST_TMPDIR/out
	write_config
}

teardown() {
	run_end_all "$name"
	"$virtbed_lab" down --name "$name" || true
}

# Two places for VMs on each of three hosts. By its seed four tasks of one VM come in the first second, so that
# two of them share the first host.
write_config() {
	name=$(lab_name sharing)
	cat >"$config" <<END
name: $name
clusters:
  - {name: c1, nodes: 6, cores: 1, memory_mib: 112, max_mhz: 1330, base_mhz: 2660, shared: true,
     hosts: [{blade: b1}, {blade: b2}, {blade: b3}]}
types:
  - {name: job, benchmark: is, class: S, cores: 1, repetitions: 4000, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 0.2, duration_s: 1, seed: 2, utility_max: [1], constant_until: 1, zero_at: 50}
experiment:
  policies: [greedy]
  limits: [1]
  budget_j: 200000
  mapping_interval_s: 1
  duration_s: 900
  baseline_s: 1
  task_deadline_s: 800
lab:
  fit: yes
  blades:
    - {name: b1, cpu_cores: 0.5, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 0.5, idle_w: 60, core_w: 100}
    - {name: b3, cpu_cores: 0.5, idle_w: 60, core_w: 100}
END
	echo "estimates: [{type: job, cluster: c1, etc_s: 15, eec_j: 100}]" >"$estimates"
}

show_record() {
	run_query "$out" "SELECT task, state, nodes, attempts, exec_s, reason FROM task"
	run_query "$out" "SELECT * FROM migration"
	run_query "$out" "SELECT * FROM share"
	tail -n 20 "$out"/logs/*.log
	return 1
}

# A value that `virtbed show` gives of a task of the run. shown TASK [JQ-OPTION...] JQ-FILTER
shown() {
	"$virtbed" show "$1" --run "$out" --json 2>/dev/null | jq -r "${@:2}"
}

all_run() {
	local task
	for task in 0 1 2 3; do
		[ "$(shown $task .state)" = running ] || return 1
	done
}

# Two of a host have half of it each: VMs that may use half of what their host may, and use no more but for a tenth.
shares_are_measured() {
	local task cores
	cores=$(awk '$1 == "max_mhz:" {print $2 / 2660}' "$out/config.yaml") # as fitted to this machine
	for task in 0 3; do
		[ "$(shown $task --argjson host "$cores" '.yield == 0.5 and (.share | . != null and .share == 0.5 and
			.asked_cores > 0.48 * $host and .asked_cores < 0.52 * $host and
			.given_cores > 0 and .given_cores < 0.6 * $host)')" = true ] || return 1
	done
}

@test "tasks share hosts by their quotas, and one goes to another host while it runs" {
	"$virtbed" config check "$config"
	run_start run "$config" --estimates "$estimates" --out "$out"
	within 240 all_run || show_record
	within 60 shares_are_measured || show_record
	run "$virtbed" migrate 1 --to nowhere --run "$out"
	[ "$status" -eq 2 ]
	[[ "$output" = *"there is no host 'nowhere'"* ]]
	run "$virtbed" migrate 99 --to b3 --run "$out"
	[ "$status" -eq 2 ]
	run "$virtbed" migrate 1 --to b2 --run "$out"
	[ "$status" -eq 1 ]
	[[ "$output" = *"its VMs are there already"* ]]
	run "$virtbed" migrate 1 --to b3 --run "$out"
	echo "$output"
	[ "$status" -eq 0 ] || show_record
	[ "$output" = "task 1 is running on b3" ]
	[ "$(shown 1 '.hosts == ["b3"] and .yield > 0 and .virtual_s > 0 and
		([.places[] | [.how, .hosts[0]]] == [["started", "b2"], ["migrated", "b3"]])')" = true ] || show_record
	[ "$(run_query "$out" "SELECT nodes, to_nodes, by_person, ended_s > requested_s, reason IS NULL FROM migration")" = \
		"1|2|1|1|1" ] || show_record
	[ "$(run_query "$out" "SELECT json_extract(detail, '\$.user') FROM event WHERE kind = 'migrate'")" = "$(id -un)" ]
	[ "$(run_query "$out" "SELECT from_node, to_node, total_s > 0, downtime_s < total_s FROM migration_vm")" = "1|2|1|1" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM share WHERE yield = 0.5")" ]
}
