#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# VMs whose CPU quota is more than a control group above them has, as on a machine, or in a container, that is smaller
# than the configuration thought.

load lab
load local

setup() {
	BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR
	lab_require
	lab_require_image
	lab=$(lab_name quota)
	local_lab=$lab
	write_config "$BATS_TEST_TMPDIR/config.yaml"
}

teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 20 "$BATS_TEST_TMPDIR/c1.log"
	local_tear_down_file
	lab_remove_limited
}

# One VM of two cores, with a quota of 1.2 of them.
write_config() {
	cat >"$1" <<END
name: $lab
clusters:
  - {name: c1, nodes: 1, cores: 2, memory_mib: 112, max_mhz: 1600, base_mhz: 2660, hosts: [{blade: b1}]}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  overcommit: yes
  blades:
    - {name: b1, cpu_cores: 1.8, idle_w: 60, core_w: 100}
END
}

@test "a VM whose quota is more than what a group above it has is held back by that group, and said so" {
	lab_make_limited 90000
	lab_register "$lab"
	lab_in_limited "$virtbed_lab" up "$BATS_TEST_TMPDIR/config.yaml" --name "$lab"
	local_start c1
	within 240 local_all_ready c1
	local_assert_works c1 '[0]'
	[[ "$(local_get c1 /v1/capabilities | jq -r .cpu_cap_note)" == *"no more than the control groups above the VM have" ]]
	# Version 2 takes such a quota, which holds nothing back.
	[ -f "$(lab_mount_of cpu)/$lab-limited/cpu.max" ] ||
		grep -E "a control group above it has less than its CPU quota, [0-9]+ of [0-9]+ us" "$BATS_TEST_TMPDIR/c1.log"
}
