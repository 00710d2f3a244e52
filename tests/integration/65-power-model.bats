#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# From the watts of the blades to the decisions, through all that lies between: meters, counters, the
# profile's estimates, a policy.

load lab
load run

setup() {
	run_use_lab
	base=$(lab_name power)
}

teardown() {
	local of
	for of in frugal_first frugal_last; do
		run_end_lab "$base-$of"
	done
}

# Two equal clusters but for the watts that a core of their blades takes. write_config FILE NAME W W
write_config() {
	cat >"$1" <<END
name: $2
clusters:
  - {name: c1, nodes: 1, cores: 1, memory_mib: 112, max_mhz: 600, base_mhz: 2660, hosts: [{blade: b1}]}
  - {name: c2, nodes: 1, cores: 1, memory_mib: 112, max_mhz: 600, base_mhz: 2660, hosts: [{blade: b2}]}
types:
  - {name: IS.S.1, benchmark: is, class: S, cores: 1, repetitions: 6, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 20, duration_s: 200, seed: 1, utility_max: [1]}
experiment:
  policies: [max-upe]
  limits: [1]
  budget_j: 100000
  mapping_interval_s: 2
  duration_s: 240
  baseline_s: 2
  profile_repeats: 1
  task_deadline_s: 60
lab:
  blades:
    - {name: b1, cpu_cores: 0.4, idle_w: 60, core_w: $3}
    - {name: b2, cpu_cores: 0.4, idle_w: 60, core_w: $4}
END
}

# profile NAME W W: measures the estimates and decides with them; leaves NAME.yaml and NAME.json
profile() {
	write_config "$1.config.yaml" "$base-$1" "$2" "$3"
	"$virtbed" profile "$1.config.yaml" --repeat 3 --out "$1.yaml" --json >"$1.json" 2>"$1.words" 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/pids"
}

# The joules that a task takes on CLUSTER. eec NAME CLUSTER
eec() {
	jq ".estimates[] | select(.cluster == \"$2\") | .eec_j" "$1.json"
}

# Where each task of a simulation runs, as "TASK CLUSTER" lines. placed NAME
placed() {
	"$virtbed" simulate frugal_first.config.yaml --estimates "$1.yaml" --trials 1 --out "$1" >/dev/null
	run_query "$1" "SELECT task, cluster FROM task WHERE cluster IS NOT NULL ORDER BY task"
}

@test "swapping two blades' power coefficients swaps the energy estimates and changes the decisions" {
	local pid first last
	profile frugal_first 100 400
	profile frugal_last 400 100
	while read -r pid; do
		wait "$pid" || { cat ./*.words; return 1; }
	done <"$BATS_TEST_TMPDIR/pids"
	jq -c . frugal_first.json frugal_last.json
	# What a core takes is a factor of four apart, sixteen over both; a quarter of that leaves room for all noise.
	jq -en "[$(eec frugal_first c2) / $(eec frugal_first c1), $(eec frugal_last c1) / $(eec frugal_last c2)] |
		min > 1.25 and .[0] * .[1] > 4"
	first=$(placed frugal_first)
	last=$(placed frugal_last)
	printf '%s\n--\n%s\n' "$first" "$last"
	[ "$(head -n 1 <<<"$first")" = "0|c1" ]
	[ "$(head -n 1 <<<"$last")" = "0|c2" ]
	[ "$first" != "$last" ]
}
