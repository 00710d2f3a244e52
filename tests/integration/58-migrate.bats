#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# VMs of MPI jobs that run go from host to host and the jobs go on: alone, two jobs in opposite directions, and
# where it fails.

bats_require_minimum_version 1.5.0
load lab
load local

setup_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	lab_require
	lab_require_image
	local_lab=$(lab_name mi)
	export local_lab
	migrate_write_config "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	lab_up "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	local_start c1
	within 240 local_all_ready c1
}

teardown_file() {
	local_tear_down_file
}

# Nodes 0 to 2 are on b1, 3 to 5 on b2.
migrate_write_config() {
	cat >"$1" <<END
name: $2
clusters:
  - {name: c1, nodes: 6, cores: 1, memory_mib: 112, max_mhz: 1600, base_mhz: 2660, hosts: [{blade: b1}, {blade: b2}]}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  overcommit: yes
  blades:
    - {name: b1, cpu_cores: 1.9, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 1.9, idle_w: 60, core_w: 100}
END
}

# Carries a BODY out with a task of its own whose repetitions are doubled until it does not end too early for it:
# the body then returns 2. migrate_with BODY [REPETITIONS]
migrate_with() {
	local status
	migrate_repetitions=${2:-4}
	while :; do
		status=0
		"$1" "$1-$migrate_repetitions" || status=$?
		[ $status = 2 ] || return $status
		migrate_repetitions=$((2 * migrate_repetitions))
		within 180 migrate_nothing_left || return 1
	done
}

# Starts a task of two VMs. migrate_start ID NODES
migrate_start() {
	local_put c1 "$1" "$(local_task cg S 2 "$migrate_repetitions" "$2" 300)" &&
		within 120 migrate_is "$1" '^(running|ended)$'
}

migrate_is() {
	[[ $(local_get c1 "/v1/tasks/$1" | jq -r .state) =~ $2 ]]
}

# 2 where the task was over before that, else 1. migrate_why ID
migrate_why() {
	within 120 migrate_is "$1" '^ended$' && local_assert_outcome c1 "$1" completed && return 2
	return 1
}

# Asks for a migration. migrate_ask ID N NODES [TRY]
migrate_ask() {
	local status
	status=$(local_status c1 PUT "/v1/tasks/$1/migrations/$2" "{\"nodes\": $3, \"try\": ${4:-1}}")
	[ "$status" = 201 ] || { echo "PUT migrations/$2: $status $(cat "$BATS_FILE_TMPDIR/body")"; return 1; }
}

migrate_events() {
	local_get c1 '/v1/events?after=0' | jq "[.events[] | select(.task == \"$1\" and .kind == \"$2\")] | length"
}

# Whether N migrations came about, or the task is over.
migrate_has_come() {
	[ "$(migrate_events "$1" task-migrated)" = "$2" ] || local_task_is c1 "$1" ended
}

# A value of the last migration. migrate_last ID JQ-FILTER
migrate_last() {
	local_get c1 "/v1/tasks/$1" | jq -r ".migrations[-1] | $2"
}

# The VMs at the nodes of a blade, as the scheduler says, and those that there are.
migrate_wanted() {
	local_get c1 /v1/nodes | jq -r ".nodes[] | select(.host == \"$1\") | .vm" | sort | tr '\n' ' '
}

migrate_vms() {
	local_virsh "$1" list --all --name | grep . | sort | tr '\n' ' '
}

# Every VM is at a node, and no others are left.
migrate_nothing_left() {
	local_all_ready c1 && [ "$(migrate_vms b1)" = "$(migrate_wanted b1)" ] &&
		[ "$(migrate_vms b2)" = "$(migrate_wanted b2)" ]
}

# Whether a VM on BLADE has the quota of the cluster, 1600 of 2660 MHz. migrate_is_capped BLADE VM
migrate_is_capped() {
	local_virsh "$1" schedinfo "$2" |
		awk '/global_period/ {p = $3} /global_quota/ {q = $3} END {exit !(q > 0.59 * p && q < 0.61 * p)}'
}

# That each VM which went to another host has its times, and the node its task.
migrate_assert_moved() {
	local_get c1 "/v1/tasks/$1" | jq -e --argjson count "$2" '.migrations[-1] |
		.reason == null and ([.vms[] | select(.from_host != .to_host)] | length) == $count and
		([.vms[] | select(.from_host != .to_host) | .moved and .total_ns > 0 and
			.downtime_ns >= 0 and .downtime_ns < .total_ns] | all)' ||
		{ local_get c1 "/v1/tasks/$1"; return 1; }
}

alone() {
	local vm before
	migrate_start "$1" '[0, 1]' || return 1
	before=$(migrate_wanted b1)
	migrate_ask "$1" 1 '[3, 4]' || migrate_why "$1" || return $?
	[ "$(local_status c1 PUT "/v1/tasks/$1/migrations/1" '{"nodes": [3, 4]}')" = 200 ] || return 1
	within 120 migrate_has_come "$1" 1 || return 1
	[ "$(migrate_events "$1" task-migrated)" = 1 ] || return 2
	migrate_assert_moved "$1" 2 || return 1
	[ "$(local_get c1 "/v1/tasks/$1" | jq -c .nodes)" = "[3,4]" ] || return 1
	for vm in $(migrate_vm 3) $(migrate_vm 4); do
		[[ "$before" = *"$vm "* ]] && migrate_is_capped b2 "$vm" || return 1
	done
	local_assert_outcome c1 "$1" completed || return 1
	[ "$(migrate_events "$1" task-ended)" = 1 ] || return 1
	local_get c1 "/v1/tasks/$1" |
		jq -e '.cpu_s > 0 and .cpu_s <= .host_cpu_s and .host_energy_uj > 0'
}

@test "a task runs on while its VMs go to another host, and verifies" {
	migrate_with alone
	within 180 migrate_nothing_left
}

cross() {
	migrate_start "$1-e" '[0, 1]' && migrate_start "$1-w" '[3, 4]' || return 1
	migrate_ask "$1-e" 1 '[5, 0]' || migrate_why "$1-e" || return $?
	migrate_ask "$1-w" 1 '[2, 4]' || migrate_why "$1-w" || return $?
	within 120 migrate_has_come "$1-e" 1 && within 120 migrate_has_come "$1-w" 1 || return 1
	[ "$(migrate_events "$1-e" task-migrated)" = 1 ] || return 2
	[ "$(migrate_events "$1-w" task-migrated)" = 1 ] || return 2
	migrate_assert_moved "$1-e" 1 && migrate_assert_moved "$1-w" 1 &&
		local_assert_outcome c1 "$1-e" completed && local_assert_outcome c1 "$1-w" completed
}

@test "VMs of two tasks cross one another" {
	migrate_with cross
	within 180 migrate_nothing_left
}

# The VM at a node.
migrate_vm() {
	local_get c1 /v1/nodes | jq -r ".nodes[$1].vm"
}

# The libvirtd of a blade: the one whose mount namespace has the blade's sockets.
migrate_libvirtd() {
	local pid
	for pid in $(pgrep -x libvirtd); do
		grep -q "/lab/$local_lab/$1/etc " "/proc/$pid/mountinfo" && echo "$pid"
	done
	true
}

# Asks for a migration of the VM at node 0 to node 3 that takes a minute, and waits until it is under way.
migrate_slowly() {
	local vm
	vm=$(migrate_vm 0)
	local_virsh b1 migrate-setspeed "$vm" 1
	migrate_ask "$1" 1 '[3, 1]' && within 60 migrate_is_there "$vm" "$1" && ! local_task_is c1 "$1" ended
}

migrate_is_there() {
	[[ " $(migrate_vms b2)" = *" $1 "* ]] || local_task_is c1 "$2" ended
}

migrate_has_failed() {
	[ "$(migrate_events "$1" task-migrate-failed)" = 1 ] || local_task_is c1 "$1" ended
}

fails() {
	local vm
	migrate_start "$1" '[0, 1]' || return 1
	vm=$(migrate_vm 0)
	migrate_slowly "$1" || migrate_why "$1" || return $?
	kill -9 "$(migrate_libvirtd b2)"
	within 120 migrate_has_failed "$1" || return 1
	[ "$(migrate_events "$1" task-migrate-failed)" = 1 ] || return 2
	[ "$(local_get c1 "/v1/tasks/$1" | jq -c '[.nodes, .migrations]')" = '[[0,1],null]' ] &&
		[ "$(migrate_vm 0)" = "$vm" ] && [ "$(local_virsh b1 domstate "$vm")" = running ] || return 1
	[ "$(local_status c1 PUT "/v1/tasks/$1/migrations/1" '{"nodes": [3, 1]}')" = 200 ] || return 1
	local_virsh b1 migrate-setspeed "$vm" 9000
	within 120 migrate_all_usable "$1" || return 1
	migrate_ask "$1" 1 '[3, 1]' 2 || migrate_why "$1" || return $?
	within 120 migrate_has_come "$1" 1 || return 1
	[ "$(migrate_events "$1" task-migrated)" = 1 ] || return 2
	migrate_assert_moved "$1" 1 && local_assert_outcome c1 "$1" completed
}

# All nodes are ready but those that the task has.
migrate_all_usable() {
	local_get c1 /v1/nodes | jq -e "[.nodes[] | .state == \"ready\" or .task == \"$1\"] | all" >/dev/null
}

@test "a VM whose new host fails it runs on where it was, and goes at the next try" {
	migrate_with fails
	within 180 migrate_nothing_left
}

@test "a task is killed while a VM is on its way, and a scheduler" {
	local_put c1 ends "$(local_long_task)"
	within 120 local_task_is c1 ends running
	migrate_slowly ends
	[ "$(local_status c1 DELETE /v1/tasks/ends)" = 200 ]
	local_assert_outcome c1 ends killed
	within 180 migrate_nothing_left
	local_put c1 dies "$(local_long_task)"
	within 120 local_task_is c1 dies running
	migrate_slowly dies
	local_end KILL c1
	local_start c1
	within 240 migrate_nothing_left
	local_assert_outcome c1 dies lost
	[ "$(migrate_events dies task-ended)" = 1 ]
	local_assert_works c1 '[0, 3]'
}

# Whether the quota of a VM is PERCENT of its period. migrate_quota_is BLADE VM PERCENT
migrate_quota_is() {
	local_virsh "$1" schedinfo "$2" |
		awk -v wanted="$3" '/global_period/ {p = $3} /global_quota/ {q = $3}
			END {exit !(q > (wanted - 1) * p / 100 && q < (wanted + 1) * p / 100)}'
}

migrate_has_share() {
	[ "$(local_get c1 "/v1/tasks/$1" | jq ".share | .n == $2 and .set_ns != null")" = true ]
}

# What is given is measured, and no more than what is asked for but for a tenth: quotas are kept over periods.
migrate_share_is_measured() {
	local_get c1 "/v1/tasks/$1" | jq -e '.share | .given_cores != null and .given_cores > 0 and
		.given_cores < 1.1 * .asked_cores' >/dev/null
}

@test "the VMs of a task have its share, wherever they go, until it ends" {
	local vm
	local_put c1 shares "$(local_long_task)"
	within 120 local_task_is c1 shares running
	vm=$(migrate_vm 0)
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/1 '{"share": 1.5}')" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/1 '{"share": 0.5}')" = 201 ]
	within 60 migrate_has_share shares 1
	migrate_quota_is b1 "$vm" 30
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/1 '{"share": 0.2}')" = 200 ]
	migrate_quota_is b1 "$vm" 30
	within 60 migrate_share_is_measured shares
	migrate_ask shares 1 '[3, 1]'
	within 120 migrate_has_come shares 1
	migrate_quota_is b2 "$vm" 30
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/2 '{"share": 1}')" = 201 ]
	within 60 migrate_has_share shares 2
	migrate_is_capped b2 "$vm"
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/3 '{"share": 0.25}')" = 201 ]
	within 60 migrate_has_share shares 3
	[ "$(local_status c1 DELETE /v1/tasks/shares)" = 200 ]
	local_assert_outcome c1 shares killed
	within 180 migrate_nothing_left
	migrate_is_capped b2 "$vm"
}

# The Nth migration of a task is over, or it ends too early. migrate_once ID N NODES
migrate_once() {
	migrate_ask "$1" "$2" "$3" && within 300 migrate_has_come "$1" "$2" &&
		[ "$(migrate_events "$1" task-migrated)" = "$2" ] || migrate_why "$1"
}

# Ten VMs go alone, two at a time, then ten of two tasks, in opposite directions at a time.
many() {
	local n there=('[0, 1]' '[3, 4]') east=('[0, 3]' '[0, 2]') west=('[1, 5]' '[4, 5]')
	migrate_start "$1" '[0, 1]' || return 1
	for n in 1 2 3 4 5; do
		migrate_once "$1" $n "${there[n % 2]}" || return $?
	done
	local_assert_outcome c1 "$1" completed && within 180 migrate_nothing_left || return 1
	migrate_start "$1-e" '[0, 3]' && migrate_start "$1-w" '[1, 5]' || return 1
	for n in 1 2 3 4 5; do
		migrate_ask "$1-e" $n "${east[n % 2]}" || migrate_why "$1-e" || return $?
		migrate_once "$1-w" $n "${west[n % 2]}" || return $?
		within 300 migrate_has_come "$1-e" $n || return 1
		[ "$(migrate_events "$1-e" task-migrated)" = $n ] || return 2
		within 120 migrate_crossed "$1-e" "$1-w" || return 1
	done
	local_assert_outcome c1 "$1-e" completed && local_assert_outcome c1 "$1-w" completed || return 1
	local_get c1 /v1/tasks | jq -c '.tasks[] | [.id, .outcome, [.migrations[]?.vms[] |
		select(.total_ns) | [.total_ns / 1e6, .downtime_ns / 1e6]]]' >&3
}

# All nodes are ready but those of the two.
migrate_crossed() {
	local_get c1 /v1/nodes | jq -e "[.nodes[] | .state == \"ready\" or .task == \"$1\" or
		.task == \"$2\"] | all" >/dev/null
}

@test "twenty VMs go, alone and in opposite directions at a time, and all tasks verify" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	migrate_with many 64
}
