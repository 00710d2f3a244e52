# SPDX-License-Identifier: GPL-3.0-or-later
# Local schedulers for tests: started on a lab, spoken to with curl, always ended. Load it with
# `load lab` and `load local`; a file's tests share one lab (local_set_up_file).

local_program=$lab_build/local-sched/virtbed-local-sched

# Two blades: c1 has two nodes of one core, with quotas of 60 % of a core, c2 two of two cores without
# quotas. That is more than a small machine has: nothing is measured here.
local_write_config() {
	cat >"$1" <<END
name: $2
clusters:
  - {name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 1600, base_mhz: 2660, hosts: [{blade: b1}]}
  - {name: c2, nodes: 2, cores: 2, memory_mib: 128, swap_mib: 64, hosts: [{blade: b2}]}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  overcommit: yes
  blades:
    - {name: b1, cpu_cores: 1.8, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 1.8, idle_w: 60, core_w: 100}
END
}

# A lab and a running local scheduler for each of CLUSTER..., for all tests of a file.
local_set_up_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	lab_require
	lab_require_image
	local_lab=$(lab_name ls)
	export local_lab
	local_write_config "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	lab_up "$BATS_FILE_TMPDIR/config.yaml" "$local_lab"
	local cluster
	for cluster in "$@"; do
		local_start "$cluster"
	done
	for cluster in "$@"; do
		within 120 local_all_ready "$cluster"
	done
}

local_tear_down_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	local pid_file
	for pid_file in "$BATS_FILE_TMPDIR"/*.pid; do
		[ -f "$pid_file" ] && local_end TERM "$(basename "$pid_file" .pid)"
	done
	lab_down_all
}

# Where a test has failed its output ends with what the local schedulers said last.
teardown() {
	local log
	[ -n "${BATS_TEST_COMPLETED:-}" ] && return
	for log in "$BATS_FILE_TMPDIR"/*.log; do
		[ -f "$log" ] && echo "-- $(basename "$log")" && grep -v '^[^ ]* debug ' "$log" | tail -n 12
	done
	true
}

# Starts the local scheduler of CLUSTER in the background. local_start CLUSTER [ARGUMENT...]
local_start() {
	local cluster=$1
	shift
	VIRTBED_LOG=debug setsid "$local_program" --config "$BATS_FILE_TMPDIR/config.yaml" \
		--cluster "$cluster" --listen "unix:$BATS_FILE_TMPDIR/$cluster.sock" \
		--state "$BATS_FILE_TMPDIR/$cluster.state" --image "$lab_image" "$@" \
		>>"$BATS_FILE_TMPDIR/$cluster.log" 2>&1 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/$cluster.pid"
	disown
}

# Ends it by SIGNAL and waits until it is gone; its exit status is not ours to see.
local_end() {
	local pid_file=$BATS_FILE_TMPDIR/$2.pid pid
	pid=$(cat "$pid_file")
	rm -f "$pid_file"
	kill -"$1" "$pid" || return 0
	within 40 local_gone "$pid"
}

local_gone() {
	! kill -0 "$1" 2>/dev/null
}

# The body of an answer. local_get CLUSTER PATH
local_get() {
	curl -s --max-time 70 --unix-socket "$BATS_FILE_TMPDIR/$1.sock" "http://localhost$2"
}

# The status of an answer; its body goes to $BATS_FILE_TMPDIR/body. local_status CLUSTER METHOD PATH [BODY]
local_status() {
	curl -s --max-time 70 --unix-socket "$BATS_FILE_TMPDIR/$1.sock" -o "$BATS_FILE_TMPDIR/body" \
		-w '%{http_code}' -X "$2" ${4:+-H 'Content-Type: application/json' -d "$4"} \
		"http://localhost$3"
}

local_all_ready() {
	[ "$(local_get "$1" /v1/nodes | jq -r '[.nodes[].state] | unique | join(" ")')" = ready ]
}

# The body of a PUT. local_task BENCHMARK CLASS RANKS REPETITIONS NODES DEADLINE
local_task() {
	echo "{\"type\": \"T\", \"benchmark\": \"$1\", \"class\": \"$2\", \"ranks\": $3," \
		"\"repetitions\": $4, \"nodes\": $5, \"deadline_s\": $6}"
}

# A task that takes longer than any test.
local_long_task() {
	local_task cg W 2 1000 "${1:-[0, 1]}" "${2:-3000}"
}

local_put() {
	local status
	status=$(local_status "$1" PUT "/v1/tasks/$2" "$3")
	[ "$status" = 201 ] || { echo "PUT: $status $(cat "$BATS_FILE_TMPDIR/body")"; return 1; }
}

local_task_is() {
	[ "$(local_get "$1" "/v1/tasks/$2" | jq -r .state)" = "$3" ]
}

# Waits for the end of a task and prints it. local_await CLUSTER ID
local_await() {
	within 400 local_task_is "$1" "$2" ended
	local_get "$1" "/v1/tasks/$2"
}

# local_assert_outcome CLUSTER ID OUTCOME
local_assert_outcome() {
	local task
	task=$(local_await "$1" "$2")
	[ "$(jq -r .outcome <<<"$task")" = "$3" ] || { echo "$task"; return 1; }
}

# Runs a small task to its good end.
local_assert_works() {
	local id=works-$1-$RANDOM
	local_put "$1" "$id" "$(local_task is S 2 1 "${2:-[0, 1]}" 200)"
	local_assert_outcome "$1" "$id" completed
}

# Process ids of the QEMUs of CLUSTER, a line.
local_qemus() {
	pgrep -f -- "^/usr/bin/qemu-system.* guest=virtbed-$local_lab-$1-n${2:-}" | sort | tr '\n' ' '
}

# The libvirtd of a blade. What that has forked and not yet started has its name too, but is no child of
# the blade's process.
local_libvirtd() {
	pgrep -P "$(lab_get "$local_lab" ".blades[] | select(.name == \"$1\") | .blade_pid")" -x libvirtd
}

local_virsh() {
	local blade=$1
	shift
	virsh -q -c "$(lab_uri "$local_lab" "$blade")" "$@"
}

# Whether the CPU times of a task are known, or unknown where the log of CLUSTER says why: a host of a busy machine did
# not answer in time. local_has_cpu_times CLUSTER TASK, the task as JSON
local_has_cpu_times() {
	local unread=false
	! grep -q "the CPU time of a task's VMs stays unknown" "$BATS_FILE_TMPDIR/$1.log" || unread=true
	jq -e --argjson unread "$unread" 'if .cpu_s == null then $unread else .cpu_s > 0 and .cpu_s <= .host_cpu_s end' \
		<<<"$2" || { echo "$2"; return 1; }
}
