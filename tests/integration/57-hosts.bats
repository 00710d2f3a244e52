#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A cluster of two hosts under one local scheduler: its nodes, its meters, tasks over both, and suspended tasks
# that are resumed at the other host.

bats_require_minimum_version 1.5.0
load lab
load local

setup_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	lab_require
	lab_require_image
	local_lab=$(lab_name ho)
	export local_lab
	hosts_write_config "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	lab_up "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	local_start c1
	within 240 local_all_ready c1
}

teardown_file() {
	local_tear_down_file
}

# Nodes 0 and 1 are on b1, 2 and 3 on b2.
hosts_write_config() {
	cat >"$1" <<END
name: $2
clusters:
  - {name: c1, nodes: 4, cores: 1, memory_mib: 112, swap_mib: 16, max_mhz: 1600, base_mhz: 2660, hosts: [{blade: b1}, {blade: b2}]}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  overcommit: yes
  blades:
    - {name: b1, cpu_cores: 1.5, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 1.5, idle_w: 60, core_w: 100}
END
}

# The VMs of a blade, a line. hosts_vms BLADE [OPTION...]
hosts_vms() {
	local blade=$1
	shift
	local_virsh "$blade" list --name "$@" | grep . | sort | tr '\n' ' '
}

# The VMs at the nodes of a blade, as the scheduler says.
hosts_wanted() {
	local_get c1 /v1/nodes | jq -r ".nodes[] | select(.host == \"$1\") | .vm" | sort | tr '\n' ' '
}

# Volumes of VMs on both blades, one a line.
hosts_volumes() {
	local blade
	for blade in b1 b2; do
		local_virsh $blade vol-list virtbed | awk '{print $1}' | grep -F -- "-c1-n"
	done
}

# Every VM is at a node and runs, no saved one is left, and no swap disk on the host that a VM has left.
hosts_nothing_left() {
	local blade
	for blade in b1 b2; do
		[ "$(hosts_vms $blade --all)" = "$(hosts_wanted $blade)" ] &&
			[ -z "$(hosts_vms $blade --state-paused)" ] || return 1
	done
	! hosts_volumes | grep -q -F .save && [ -z "$(hosts_volumes | sort | uniq -d)" ]
}

# hosts_ask ID suspensions|resumptions N BODY
hosts_ask() {
	local status
	status=$(local_status c1 PUT "/v1/tasks/$1/$2/$3" "$4")
	[ "$status" = 201 ] || { echo "PUT $2/$3: $status $(cat "$BATS_FILE_TMPDIR/body")"; return 1; }
}

hosts_is() {
	[[ $(local_get c1 "/v1/tasks/$1" | jq -r .state) =~ $2 ]]
}

# A number of the last suspension of a task. hosts_last ID JQ-FILTER
hosts_last() {
	local_get c1 "/v1/tasks/$1" | jq -r ".suspensions[-1] | $2"
}

hosts_events() {
	local_get c1 '/v1/events?after=0' | jq "[.events[] | select(.task == \"$1\" and .kind == \"$2\")] | length"
}

# Suspends a running task; 1: it ended before that. hosts_suspend ID N KEEP
hosts_suspend() {
	[ "$(local_status c1 PUT "/v1/tasks/$1/suspensions/$2" "{\"keep\": \"$3\"}")" = 201 ] || return 1
	within 180 hosts_is "$1" '^(suspended|ended)$'
	local_task_is c1 "$1" suspended || return 1
	within 180 local_all_ready c1
}

# Resumes it. hosts_resume ID N BODY
hosts_resume() {
	hosts_ask "$1" resumptions "$2" "$3" && within 180 hosts_is "$1" '^(running|suspended|ended)$' &&
		[ "$(hosts_events "$1" task-resumed)" = "$2" ] ||
		{ local_get c1 "/v1/tasks/$1"; local_get c1 '/v1/events?after=0'; return 1; }
}

# The network of b1: hosts_in_b1 COMMAND...
hosts_in_b1() {
	nsenter -t "$(lab_get "$local_lab" '.blades[0].blade_pid')" -n "$@"
}

# A resumption at NODES that finds no way from b1 to b2: the task stays suspended. hosts_fail ID N NODES
hosts_fail() {
	hosts_in_b1 ip route add prohibit 10.77.0.2
	hosts_ask "$1" resumptions "$2" "{\"nodes\": $3}"
	within 180 hosts_has_failed "$1"
	hosts_in_b1 ip route del prohibit 10.77.0.2
	local_task_is c1 "$1" suspended
	[ "$(hosts_last "$1" .resumed_nodes)" = null ]
	within 180 local_all_ready c1
}

hosts_has_failed() {
	[ "$(hosts_events "$1" task-resume-failed)" = 1 ]
}

@test "the nodes of a cluster are on all of its hosts, and each host has its meter" {
	[ "$(local_get c1 /v1/nodes | jq -r '[.nodes[].host] | join(" ")')" = "b1 b1 b2 b2" ]
	[ "$(hosts_vms b1)" = "virtbed-$local_lab-c1-n0 virtbed-$local_lab-c1-n1 " ]
	[ "$(hosts_vms b2)" = "virtbed-$local_lab-c1-n2 virtbed-$local_lab-c1-n3 " ]
	within 60 hosts_meters
	[ "$(local_get c1 /v1/capabilities | jq -r '.hosts | keys | join(" ")')" = "b1 b2" ]
}

hosts_meters() {
	[ "$(local_get c1 /v1/energy | jq -r '[.hosts[] | select(.watts > 0) | .host] | join(" ")')" = "b1 b2" ]
}

@test "a task over both hosts verifies, and has what both used" {
	local_put c1 over "$(local_task is S 4 1 '[3, 0, 1, 2]' 900)"
	local_assert_outcome c1 over completed
	local_has_cpu_times c1 "$(local_get c1 /v1/tasks/over)"
	local_get c1 /v1/tasks/over |
		jq -e '.host_energy_uj > 2 * 50e6 * (.ended_ns - .requested_ns) / 1e9 - 2 * 60e6'
}

# Whether a VM on BLADE has the quota of the cluster, 1600 of 2660 MHz. hosts_is_capped BLADE VM
hosts_is_capped() {
	local_virsh "$1" schedinfo "$2" |
		awk '/global_period/ {p = $3} /global_quota/ {q = $3} END {exit !(q > 0.59 * p && q < 0.61 * p)}'
}

# Takes a task through moves: in memory to the other host at the second try, and through disk, one VM back and
# one where it is. 1: it ended too soon.
hosts_go_round() {
	local id=$1 vm
	hosts_suspend "$id" 1 memory || return 1
	hosts_fail "$id" 1 '[2, 3]' || exit 1
	hosts_resume "$id" 1 '{"nodes": [2, 3], "try": 2}' || exit 1
	[ "$(hosts_last "$id" '[.vms[].move_ns > 0] | all')" = true ] || exit 1
	[ "$(hosts_wanted b2)" = "$(hosts_vms b2 --state-running)" ] || exit 1
	for vm in $(hosts_wanted b2); do
		hosts_is_capped b2 "$vm" || exit 1
	done
	hosts_suspend "$id" 2 disk || return 1
	if ! hosts_resume "$id" 2 '{"nodes": [2, 1]}'; then
		hosts_is "$id" '^ended$' && return 1
		exit 1
	fi
	[ "$(hosts_last "$id" '[.vms[] | select(.move_ns > 0)] | length')" = 1 ] || exit 1
	[ "$(hosts_last "$id" '[.vms[].restore_ns > 0] | all')" = true ] || exit 1

}

@test "a suspended task is resumed at another host, from memory and from disk, and verifies" {
	local repetitions=2 id=round
	local_put c1 $id "$(local_task cg S 2 "$repetitions" '[0, 1]' 900)"
	within 120 local_task_is c1 $id running
	until hosts_go_round $id; do
		local_assert_outcome c1 $id completed
		repetitions=$((2 * repetitions))
		id=round-$repetitions
		within 180 local_all_ready c1
		local_put c1 $id "$(local_task cg S 2 "$repetitions" '[0, 1]' 900)"
		within 120 local_task_is c1 $id running
	done
	local_assert_outcome c1 $id completed
	# The kernel's own clock saw none of the pauses: at most the time until the other VM ran after its own.
	local_has_cpu_times c1 "$(local_get c1 /v1/tasks/$id)"
	local_get c1 /v1/tasks/$id | jq -e '.suspensions as $s | ($s | length) == 2 and
		($s | map(.running_ns - .frozen_ns) | add) as $still |
		($s | map([.vms[].resume_ns] | max) | add) as $early |
		.benchmark_time_s <= (.ended_ns - .started_ns - $still + $early) / 1e9 + 0.5 and
		.host_energy_uj > 0'
	[ "$(hosts_events $id task-ended)" = 1 ]
	within 180 local_all_ready c1
	within 180 hosts_nothing_left
}

@test "kill -9 while VMs are on their way to another host" {
	within 180 local_all_ready c1
	local_put c1 dies "$(local_long_task)"
	within 120 local_task_is c1 dies running
	qemu=$(pgrep -f -- "^/usr/bin/qemu-system.* guest=$(local_get c1 /v1/nodes | jq -r '.nodes[0].vm'),")
	hosts_ask dies suspensions 1 '{"keep": "memory"}'
	within 180 local_task_is c1 dies suspended
	within 180 local_all_ready c1
	kill -STOP "$qemu"
	hosts_ask dies resumptions 1 '{"nodes": [2, 3]}'
	# A VM that is listed there may still be on its way, and then stays where it was: the record tells.
	within 120 hosts_one_is_recorded
	there=$(hosts_vms b2 --all)
	local_end KILL c1
	kill -CONT "$qemu"
	local_start c1
	within 240 local_all_ready c1
	local_assert_outcome c1 dies lost
	[ "$(hosts_events dies task-ended)" = 1 ]
	within 180 hosts_nothing_left
	# No number is given to a VM on another host.
	[ -z "$(comm -12 <(hosts_wanted b1 | tr ' ' '\n') <(tr ' ' '\n' <<<"$there" | sort) | grep .)" ]
	local_assert_works c1 '[1, 2]'
}

@test "a task that is killed while its VMs are on their way to another host ends at once" {
	within 180 local_all_ready c1
	local_put c1 killed "$(local_long_task)"
	within 120 local_task_is c1 killed running
	qemu=$(pgrep -f -- "^/usr/bin/qemu-system.* guest=$(local_get c1 /v1/nodes | jq -r '.nodes[0].vm'),")
	hosts_ask killed suspensions 1 '{"keep": "memory"}'
	within 180 local_task_is c1 killed suspended
	within 180 local_all_ready c1
	# A VM whose QEMU stands still does not move: the migration hangs until its limit of ten minutes.
	kill -STOP "$qemu"
	hosts_ask killed resumptions 1 '{"nodes": [2, 3]}'
	within 120 hosts_one_has_come
	[ "$(local_status c1 DELETE /v1/tasks/killed)" = 200 ]
	local_assert_outcome c1 killed killed
	[ "$(hosts_events killed task-ended)" = 1 ]
	within 180 local_all_ready c1
	within 180 hosts_nothing_left
	local_assert_works c1 '[1, 2]'
}

# A third VM is on b2, or is coming there.
hosts_one_is_recorded() {
	[ "$(sqlite3 "$BATS_FILE_TMPDIR/c1.state/local.sqlite" \
		"SELECT count(*) FROM vms WHERE number < 2 AND host = 'b2'")" -ge 1 ]
}

hosts_one_has_come() {
	[ "$(hosts_vms b2 --all | wc -w)" -ge 3 ]
}
