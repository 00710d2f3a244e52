#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Tasks whose VMs are suspended and resumed on a lab: at random moments, in memory and through disk, with the
# death of any part of it at any step.

bats_require_minimum_version 1.5.0
load lab
load local

setup_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	lab_require
	lab_require_image
	local_lab=$(lab_name su)
	export local_lab
	suspend_write_config "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	lab_up "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	local_start c1
	local_start c2
	within 240 local_all_ready c1
	within 240 local_all_ready c2
}

teardown_file() {
	local_tear_down_file
}

# c1 has four nodes and as many spare VMs, c2 two nodes and none.
suspend_write_config() {
	cat >"$1" <<END
name: $2
clusters:
  - {name: c1, nodes: 4, cores: 1, memory_mib: 112, max_mhz: 1600, base_mhz: 2660, preemption: {spares: 4}, hosts: [{blade: b1}]}
  - {name: c2, nodes: 2, cores: 1, memory_mib: 112, swap_mib: 16, hosts: [{blade: b2}]}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  overcommit: yes
  blades:
    - {name: b1, cpu_cores: 2.5, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 1.8, idle_w: 60, core_w: 100}
END
}

# suspend_ask CLUSTER ID suspensions|resumptions N BODY
suspend_ask() {
	local status
	status=$(local_status "$1" PUT "/v1/tasks/$2/$3/$4" "$5")
	[ "$status" = 201 ] || { echo "PUT $3/$4: $status $(cat "$BATS_FILE_TMPDIR/body")"; return 1; }
}

# suspend_task CLUSTER ID N KEEP, until it is.
suspend_task() {
	suspend_ask "$1" "$2" suspensions "$3" "{\"keep\": \"$4\"}"
	within 180 local_task_is "$1" "$2" suspended
}

# resume_task CLUSTER ID N NODES, until it runs.
resume_task() {
	suspend_ask "$1" "$2" resumptions "$3" "{\"nodes\": $4}"
	within 180 suspend_is_resumed "$1" "$2"
}

suspend_is_resumed() {
	[[ $(local_get "$1" "/v1/tasks/$2" | jq -r .state) =~ running|ended ]]
}

# The last suspension of a task. suspend_last CLUSTER ID JQ-FILTER
suspend_last() {
	local_get "$1" "/v1/tasks/$2" | jq -r ".suspensions[-1] | $3"
}

# How often events of KIND about task ID came. suspend_events CLUSTER ID KIND
suspend_events() {
	local_get "$1" '/v1/events?after=0' |
		jq "[.events[] | select(.task == \"$2\" and .kind == \"$3\")] | length"
}

# The blade of a cluster.
suspend_blade() {
	echo "b${1#c}"
}

# VMs on the cluster's blade that stand still, a line.
suspend_paused() {
	local_virsh "$(suspend_blade "$1")" list --state-paused --name | sort | tr '\n' ' '
}

suspend_no_image() {
	! local_virsh "$(suspend_blade "$1")" vol-list virtbed | grep -q -F ".save"
}

# Nothing is left of suspended tasks: the VMs are those of the nodes, and paused spares.
suspend_nothing_left() {
	local running paused
	running=$(local_virsh "$(suspend_blade "$1")" list --state-running --name | sort | tr '\n' ' ')
	paused=$(local_virsh "$(suspend_blade "$1")" list --state-paused --name | wc -w)
	[ "$running" = "$(local_get "$1" /v1/nodes | jq -r '.nodes[].vm' | sort | tr '\n' ' ')" ] &&
		[ "$paused" -le "$2" ] && suspend_no_image "$1"
}

# Every interval of the task is where it should be, and the kernel's own clock saw none of the pauses: at
# most the time until the other VMs ran after its own.
suspend_assert_times() {
	local_has_cpu_times c1 "$1" || return 1
	jq -e '. as $task | .suspensions as $s |
		all($s[]; .requested_ns <= .frozen_ns and .frozen_ns <= .suspended_ns and
			.suspended_ns <= .resume_requested_ns and .resume_requested_ns <= .running_ns and
			.running_ns <= .resumed_ns and (.vms | length) == ($task.nodes | length) and
			all(.vms[]; .freeze_ns > 0 and .resume_ns > 0) and
			.skew_ns >= 0 and .skew_ns <= .frozen_ns - .requested_ns + 50000000) and
		all(range(1; $s | length); $s[. - 1].running_ns < $s[.].requested_ns) and
		($s | map(.running_ns - .frozen_ns) | add) as $still |
		($s | map([.vms[].resume_ns] | max) | add) as $early |
		.benchmark_time_s <= (.ended_ns - .started_ns - $still + $early) / 1e9 + 0.5 and
		.host_energy_uj > 0 and .host_energy_uj <= (.ended_ns - .requested_ns - $still + 2e9) / 1e9 * 320e6' <<<"$1" || { echo "$1"; return 1; }
}

# The clock of a guest is within two seconds of ours, before it is asked or after. suspend_clock_is_right CLUSTER VM
suspend_clock_is_right() {
	local guest_ns asked_ms answered_ms
	asked_ms=$(date +%s%3N)
	guest_ns=$(local_virsh "$(suspend_blade "$1")" qemu-agent-command "$2" \
		'{"execute": "guest-get-time"}' | jq .return)
	answered_ms=$(date +%s%3N)
	echo "its clock: $((guest_ns / 1000000)) ms, ours: $asked_ms to $answered_ms ms"
	[ $((guest_ns / 1000000)) -gt $((asked_ms - 2000)) ] && [ $((guest_ns / 1000000)) -lt $((answered_ms + 2000)) ]
}

# How often CG.S is to be repeated to run for SECONDS, at the speed of now. A task that does not end is shown.
suspend_repetitions() {
	local id=speed-$RANDOM
	local_put c1 "$id" "$(local_task cg S 4 1 '[0, 1, 2, 3]' 200)"
	local_assert_outcome c1 "$id" completed >&2 || return 1
	local_get c1 "/v1/tasks/$id" | jq "($1 / .benchmark_time_s | ceil) + 1"
}

# Takes a running task through COUNT suspensions at seeded random moments; 1: it ended before that.
suspend_again_and_again() {
	local id=$1 count=$2 n keep orders
	orders=('[0, 1, 2, 3]' '[1, 2, 3, 0]' '[3, 2, 1, 0]' '[2, 0, 3, 1]')
	for n in $(seq "$count"); do
		sleep "$((RANDOM % 2)).$((RANDOM % 10))"
		local_task_is c1 "$id" running || return 1
		keep=memory
		[ $((n % 2)) = 0 ] && keep=disk
		[ "$(local_status c1 PUT "/v1/tasks/$id/suspensions/$n" "{\"keep\": \"$keep\"}")" = 201 ] || return 1
		within 180 suspend_is_suspended c1 "$id"
		local_task_is c1 "$id" suspended || return 1
		[ "$(suspend_last c1 "$id" .keep)" = "$keep" ] || exit 1
		[ "$n" != 2 ] || { local_put c1 "$id-other" "$(local_task is S 4 1 '[0, 1, 2, 3]' 900)" &&
			local_assert_outcome c1 "$id-other" completed || exit 1; }
		resume_task c1 "$id" "$n" "${orders[$((RANDOM % 4))]}" || exit 1
		[ "$(suspend_last c1 "$id" .resumed_ns)" != null ] || return 1
	done
	suspend_clock_is_right c1 "$(local_get c1 /v1/nodes | jq -r '.nodes[0].vm')" || exit 1
}

suspend_is_suspended() {
	[[ $(local_get "$1" "/v1/tasks/$2" | jq -r .state) =~ ^(suspended|ended)$ ]]
}

# suspend_at_random ID COUNT SEED; a machine that got faster meanwhile is given more to do.
suspend_at_random() {
	local id=$1 count=$2 repetitions task
	RANDOM=$3
	repetitions=$(suspend_repetitions $((4 * count)))
	local_put c1 "$id" "$(local_task cg S 4 "$repetitions" '[0, 1, 2, 3]' 900)"
	within 120 local_task_is c1 "$id" running
	until suspend_again_and_again "$id" "$count"; do
		local_assert_outcome c1 "$id" completed
		repetitions=$((2 * repetitions))
		id=$1-$repetitions
		local_put c1 "$id" "$(local_task cg S 4 "$repetitions" '[0, 1, 2, 3]' 900)"
		within 120 local_task_is c1 "$id" running
	done
	local_assert_outcome c1 "$id" completed
	task=$(local_get c1 "/v1/tasks/$id")
	[ "$(jq '.suspensions | length' <<<"$task")" = "$count" ]
	suspend_assert_times "$task"
	[ "$(suspend_events c1 "$id" task-suspended)" = "$count" ]
	[ "$(suspend_events c1 "$id" task-resumed)" = "$count" ]
	[ "$(suspend_events c1 "$id" task-ended)" = 1 ]
	within 180 local_all_ready c1
	within 180 suspend_nothing_left c1 4
}

@test "what a task prints can be read before and after its suspension, and while it stands still" {
	local next
	local_put c2 printing "$(local_task is S 2 100000 '[0, 1]' 3000)"
	local_get c2 '/v1/tasks/printing/output?wait_s=60' >"$BATS_TEST_TMPDIR/before"
	jq -e '.output | test("repetition 1 of")' "$BATS_TEST_TMPDIR/before"
	suspend_task c2 printing 1 disk
	next=$(jq .next "$BATS_TEST_TMPDIR/before")
	local_get c2 "/v1/tasks/printing/output?from=$next&wait_s=1" |
		jq -e ".from == $next and (.ended | not)"
	resume_task c2 printing 1 '[0, 1]'
	local_get c2 "/v1/tasks/printing/output?from=$next&wait_s=60" >"$BATS_TEST_TMPDIR/after"
	jq -e ".next > $next" "$BATS_TEST_TMPDIR/after"
	[ "$(local_status c2 DELETE /v1/tasks/printing)" = 200 ]
	local_assert_outcome c2 printing killed
	local_get c2 /v1/tasks/printing | jq -j .output >"$BATS_TEST_TMPDIR/whole"
	jq -j -s 'map(.output) | add' "$BATS_TEST_TMPDIR"/{before,after} >"$BATS_TEST_TMPDIR/start"
	cmp -n "$(stat -c %s "$BATS_TEST_TMPDIR/start")" "$BATS_TEST_TMPDIR"/{start,whole}
	within 120 local_all_ready c2
}

@test "a task over four VMs verifies after suspensions at random moments, in memory and through disk" {
	suspend_at_random random 2 "${VIRTBED_SEED:-7}"
}

@test "and after ten" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_at_random ten 10 "${VIRTBED_SEED:-8}"
}

# The CPU time of c1's VMs in nanoseconds. suspend_cpu_ns VM...
suspend_cpu_ns() {
	local_virsh b1 domstats --cpu-total "$@" | awk -F = '/cpu.time/ {sum += $2} END {printf "%.0f", sum}'
}

# Whether they have used a second since that was BEFORE. suspend_has_computed BEFORE VM...
suspend_has_computed() {
	[ "$(suspend_cpu_ns "${@:2}")" -gt $(($1 + 1000000000)) ]
}

@test "requests that repeat what is known do nothing, others that cannot be met are refused" {
	within 180 local_all_ready c1
	vms=$(local_get c1 /v1/nodes | jq -r '.nodes[].vm')
	local_put c1 asks "$(local_task cg W 4 1000 '[0, 1, 2, 3]' 3000)"
	within 120 local_task_is c1 asks running
	[ "$(local_status c1 PUT /v1/tasks/asks/suspensions/2 '{}')" = 409 ]
	[ "$(local_status c1 PUT /v1/tasks/asks/suspensions/0 '{}')" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/asks/suspensions/1 '{"keep": "tape"}')" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/asks/resumptions/1 '{"nodes": [0, 1, 2, 3]}')" = 409 ]
	[ "$(local_status c1 PUT /v1/tasks/never/suspensions/1 '{}')" = 404 ]
	suspend_task c1 asks 1 auto
	[ "$(suspend_last c1 asks .keep)" = memory ]
	[ "$(local_status c1 PUT /v1/tasks/asks/suspensions/1 '{"keep": "auto"}')" = 200 ]
	[ "$(local_status c1 PUT /v1/tasks/asks/resumptions/1 '{"nodes": [0, 1]}')" = 409 ]
	[ "$(local_status c1 PUT /v1/tasks/asks/resumptions/2 '{"nodes": [0, 1, 2, 3]}')" = 409 ]
	local_put c1 in-the-way "$(local_task cg W 1 1000 '[2]' 3000)"
	[ "$(local_status c1 PUT /v1/tasks/asks/resumptions/1 '{"nodes": [0, 1, 2, 3]}')" = 409 ]
	[ "$(local_status c1 DELETE /v1/tasks/in-the-way)" = 200 ]
	local_assert_outcome c1 in-the-way killed
	within 180 local_all_ready c1
	resume_task c1 asks 1 '[3, 2, 1, 0]'
	[ "$(local_status c1 PUT /v1/tasks/asks/resumptions/1 '{"nodes": [3, 2, 1, 0]}')" = 200 ]
	[ "$(suspend_events c1 asks task-resumed)" = 1 ]
	before=$(suspend_cpu_ns $vms)
	within 120 suspend_has_computed "$before" $vms
	suspend_task c1 asks 2 memory
	used=$(($(suspend_cpu_ns $vms) - before))
	[ "$(local_status c1 DELETE /v1/tasks/asks)" = 200 ]
	local_assert_outcome c1 asks killed
	# What its VMs used until they stood still counts, though they were paused when that was read.
	local_get c1 /v1/tasks/asks | jq -e ".cpu_s >= $used / 1e9"
	within 180 suspend_nothing_left c1 4
}

# The storage pool of c1's blade, and a command among its daemons.
suspend_pool() {
	echo "/var/lib/virtbed/lab/$local_lab/b1/lib/images/virtbed"
}

suspend_in_blade() {
	nsenter -t "$(local_libvirtd b1)" -m -p "$@"
}

# Asks for a step that cannot be done: the task is as before, the Nth failure of that KIND says why.
# suspend_fails ID suspensions|resumptions BODY KIND N PATTERN
suspend_fails() {
	suspend_ask c1 "$1" "$2" 1 "$3" || return 1
	within 180 suspend_has_failed "$1" "$4" "$5"
	[[ $(suspend_reason "$1" "$4") =~ $6 ]] || { echo "$4: $(suspend_reason "$1" "$4")"; exit 1; }
}

suspend_has_failed() {
	[ "$(suspend_events c1 "$1" "$2")" = "$3" ]
}

suspend_reason() {
	local_get c1 '/v1/events?after=0' |
		jq -r "[.events[] | select(.task == \"$1\" and .kind == \"$2\")][-1].detail.reason"
}

# A file in the way of one image, then a full disk, then an image that is missing, then half of it. 1: the
# task ended before.
suspend_roll_back() {
	local id=$1 pool other
	pool=$(suspend_pool)
	other=$(local_get c1 /v1/nodes | jq -r '.nodes[1].vm').$(local_get c1 /v1/capabilities | jq -r .incarnation)
	mkdir "$pool/$other.save"
	suspend_fails "$id" suspensions '{"keep": "disk"}' task-suspend-failed 1 "^saving: .*$other"
	rm -rf "$pool/$other.save"
	local_task_is c1 "$id" running || return 1
	suspend_in_blade mount -t tmpfs -o size=8m none /var/lib/libvirt/images/virtbed
	suspend_fails "$id" suspensions '{"keep": "disk", "try": 2}' task-suspend-failed 2 "^saving: cannot save VM.*storage pool .virtbed. is full: [0-9.]+ MiB are free"
	suspend_in_blade umount -l /var/lib/libvirt/images/virtbed
	local_task_is c1 "$id" running || return 1
	suspend_ask c1 "$id" suspensions 1 '{"keep": "disk", "try": 3}' || return 1
	within 180 suspend_is_suspended c1 "$id"
	local_task_is c1 "$id" suspended || return 1
	mv "$pool/$other.save" "$pool/aside"
	suspend_fails "$id" resumptions '{"nodes": [0, 1]}' task-resume-failed 1 "^restoring: cannot restore VM"
	local_task_is c1 "$id" suspended || exit 1
	head -c 3000000 "$pool/aside" >"$pool/$other.save"
	suspend_fails "$id" resumptions '{"nodes": [0, 1], "try": 2}' task-resume-failed 2 "^restoring: cannot restore VM"
	local_task_is c1 "$id" suspended || exit 1
	mv "$pool/aside" "$pool/$other.save"
	suspend_ask c1 "$id" resumptions 1 '{"nodes": [1, 0], "try": 3}' || exit 1
	within 180 suspend_is_resumed c1 "$id"
}

@test "a VM that cannot be saved or restored brings the others back, and all can be asked for again" {
	within 180 local_all_ready c1
	repetitions=$(suspend_repetitions 8)
	id=rolled
	local_put c1 $id "$(local_task cg S 2 "$repetitions" '[0, 1]' 900)"
	within 120 local_task_is c1 $id running
	until suspend_roll_back $id; do
		local_assert_outcome c1 "$id" completed
		repetitions=$((2 * repetitions))
		id=rolled-$repetitions
		local_put c1 "$id" "$(local_task cg S 2 "$repetitions" '[0, 1]' 900)"
		within 120 local_task_is c1 "$id" running
	done
	local_assert_outcome c1 "$id" completed
	task=$(local_get c1 "/v1/tasks/$id")
	[ "$(jq '.suspensions | length' <<<"$task")" = 1 ]
	suspend_assert_times "$task"
	[ "$(suspend_events c1 "$id" task-ended)" = 1 ]
	within 180 local_all_ready c1
	within 180 suspend_nothing_left c1 4
}

# Task ID of c2 is suspended; before, its nodes, which get other VMs, are taken and not down.
suspend_is_off() {
	local away
	away=$(local_get c2 /v1/nodes | jq -c '.nodes[] | select(.state == "down" or .state == "booting")')
	[ -z "$away" ] || { echo "$away"; exit 1; }
	local_task_is c2 "$1" suspended
}

@test "a suspended task whose VM dies is lost, one on disk is killed, and nothing is left" {
	suspend_prepare dies
	suspend_ask c2 dies suspensions 1 '{"keep": "memory"}'
	within 180 suspend_is_off dies
	kill -9 $(pgrep -f -- "^/usr/bin/qemu-system.* guest=$(suspend_paused c2 | cut -d' ' -f1),")
	local_assert_outcome c2 dies lost
	[[ $(local_get c2 /v1/tasks/dies | jq -r .reason) =~ VM ]]
	suspend_prepare on-disk
	suspend_task c2 on-disk 1 disk
	[ -z "$(suspend_paused c2)" ]
	[ "$(local_status c2 DELETE /v1/tasks/on-disk)" = 200 ]
	local_assert_outcome c2 on-disk killed
	within 180 suspend_nothing_left c2 0
}

# The one QEMU of c2 that is at node N.
suspend_qemu() {
	pgrep -f -- "^/usr/bin/qemu-system.* guest=$(local_get c2 /v1/nodes | jq -r ".nodes[$1].vm"),"
}

# Kills c2's scheduler, starts it again and checks that task ID ended once and nothing is left of it.
suspend_crash() {
	local_end KILL c2
	[ -z "${2:-}" ] || kill -CONT "$2"
	local_start c2
	within 240 local_all_ready c2
	local_assert_outcome c2 "$1" lost
	[ "$(suspend_events c2 "$1" task-ended)" = 1 ]
	within 180 suspend_nothing_left c2 0
}

# Task ID of c2 runs, and its next suspension may be asked for.
suspend_prepare() {
	within 180 local_all_ready c2
	local_put c2 "$1" "$(local_long_task)"
	within 120 local_task_is c2 "$1" running
}

suspend_one_is_paused() {
	[ "$(suspend_paused c2 | wc -w)" -ge 1 ]
}

suspend_has() {
	[ "$(suspend_last c2 "$1" ".$2 // 0")" != 0 ]
}

@test "kill -9 between the VMs of a suspension" {
	suspend_prepare between
	qemu=$(suspend_qemu 1)
	kill -STOP "$qemu"
	suspend_ask c2 between suspensions 1 '{"keep": "memory"}'
	within 120 suspend_one_is_paused
	suspend_crash between "$qemu"
}

suspend_image_there() {
	! suspend_no_image c2
}

@test "kill -9 while the VMs are saved" {
	suspend_prepare saving
	suspend_ask c2 saving suspensions 1 '{"keep": "disk"}'
	within 120 suspend_image_there
	suspend_crash saving
	local_assert_works c2
}

@test "kill -9 after the intent to suspend is stored" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_prepare intent
	qemu="$(suspend_qemu 0) $(suspend_qemu 1)"
	kill -STOP $qemu
	suspend_ask c2 intent suspensions 1 '{"keep": "memory"}'
	local_end KILL c2
	kill -CONT $qemu
	local_start c2
	within 240 local_all_ready c2
	local_assert_outcome c2 intent lost
	[ "$(suspend_events c2 intent task-ended)" = 1 ]
	within 180 suspend_nothing_left c2 0
}

@test "kill -9 after the freeze, before the suspension is confirmed" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_prepare frozen
	suspend_ask c2 frozen suspensions 1 '{"keep": "memory"}'
	within 120 suspend_has frozen frozen_ns
	local_task_is c2 frozen suspending
	suspend_crash frozen
}

@test "kill -9 while a task is suspended, in memory and on disk" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	for keep in memory disk; do
		suspend_prepare "kept-$keep"
		suspend_task c2 "kept-$keep" 1 "$keep"
		suspend_crash "kept-$keep"
	done
}

@test "kill -9 between the VMs of a resumption" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_prepare going
	qemu=$(suspend_qemu 1)
	suspend_task c2 going 1 memory
	kill -STOP "$qemu"
	suspend_ask c2 going resumptions 1 '{"nodes": [1, 0]}'
	local_task_is c2 going resuming
	suspend_crash going "$qemu"
}

@test "kill -9 while the VMs are restored" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_prepare restoring
	suspend_task c2 restoring 1 disk
	suspend_ask c2 restoring resumptions 1 '{"nodes": [1, 0]}'
	suspend_crash restoring
	local_assert_works c2
}

@test "a VM that hangs while it is frozen loses the task and nothing else" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_prepare hangs
	qemu=$(suspend_qemu 1)
	kill -STOP "$qemu"
	suspend_ask c2 hangs suspensions 1 '{"keep": "memory"}'
	within 180 local_task_is c2 hangs ended
	local_assert_outcome c2 hangs lost
	[[ $(local_get c2 /v1/tasks/hangs | jq -r .reason) =~ "freezing took longer" ]]
	within 180 local_all_ready c2
	within 180 suspend_nothing_left c2 0
	local_assert_works c2
}

@test "a deadline does not run while its task is suspended" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	within 180 local_all_ready c2
	local_put c2 deadline "$(local_long_task '[0, 1]' 15)"
	within 120 local_task_is c2 deadline running
	suspend_task c2 deadline 1 memory
	sleep 16
	local_task_is c2 deadline suspended
	resume_task c2 deadline 1 '[0, 1]'
	local_task_is c2 deadline running
	local_assert_outcome c2 deadline deadline
	local_get c2 /v1/tasks/deadline | jq -e '(.ended_ns - .requested_ns -
		(.suspensions[0] | .running_ns - .frozen_ns)) / 1e9 | . >= 15 and . < 25'
}

@test "libvirtd that dies while a task is suspended does it no harm" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	suspend_prepare daemon
	suspend_task c2 daemon 1 disk
	kill -9 "$(local_libvirtd b2)"
	within 180 suspend_libvirtd_answers
	within 180 local_all_ready c2
	resume_task c2 daemon 1 '[0, 1]'
	local_task_is c2 daemon running
	[ "$(local_status c2 DELETE /v1/tasks/daemon)" = 200 ]
	local_assert_outcome c2 daemon killed
}

suspend_libvirtd_answers() {
	local_virsh b2 version >/dev/null
}

@test "a stopped scheduler leaves nothing of a suspended task" {
	suspend_prepare stop
	suspend_task c2 stop 1 disk
	local_end TERM c2
	[ -z "$(local_virsh b2 list --all --name)" ]
	suspend_no_image c2
	[ "$(awk '/VmRSS/ {print $2}' "/proc/$(cat "$BATS_FILE_TMPDIR/c1.pid")/status")" -lt 44000 ]
}
