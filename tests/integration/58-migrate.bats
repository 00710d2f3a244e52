#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# VMs of running MPI jobs go from host to host and the jobs continue: alone, two jobs in opposite directions, and
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

# Nodes 0 to 2 are on b1, 3 to 5 on b2, each with a spare VM: what is left is filled without a boot. The slow
# tests have a cluster c2 more, with nodes 0 and 1 on b3, 2 and 3 on b4, 4 and 5 on b5.
migrate_write_config() {
	local c2='' blades=''
	if [ -n "${VIRTBED_LONG:-}" ]; then
		c2="
  - {name: c2, nodes: 6, cores: 1, memory_mib: 112, max_mhz: 1600, base_mhz: 2660,
     hosts: [{blade: b3}, {blade: b4}, {blade: b5}]}"
		blades='
    - {name: b3, cpu_cores: 1.9, idle_w: 60, core_w: 100}
    - {name: b4, cpu_cores: 1.9, idle_w: 60, core_w: 100}
    - {name: b5, cpu_cores: 1.9, idle_w: 60, core_w: 100}'
	fi
	cat >"$1" <<END
name: $2
clusters:
  - {name: c1, nodes: 6, cores: 1, memory_mib: 112, max_mhz: 1600, base_mhz: 2660, preemption: {spares: 1},
     hosts: [{blade: b1}, {blade: b2}]}$c2
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  overcommit: yes
  blades:
    - {name: b1, cpu_cores: 1.9, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 1.9, idle_w: 60, core_w: 100}$blades
END
}

# How many guests have stopped by themselves, which none is asked to, by libvirt's logs.
migrate_crashes() {
	cat "/var/lib/virtbed/lab/$local_lab"/b*/log/qemu/*.log | grep -c 'shutting down, reason=shutdown' || true
}

# Carries a BODY out with a task of its own whose repetitions are doubled until it does not end too early for it:
# the body then returns 2. QEMU's emulator before 9.0 may forget what a guest writes just when its migration begins
# (docs/explanation/migrate.md): where a guest has crashed the body is carried out again, twice at most.
# migrate_with BODY [REPETITIONS]
migrate_with() {
	local status crashes try=1
	migrate_repetitions=${2:-4}
	while :; do
		status=0
		crashes=$(migrate_crashes)
		"$1" "$1-$migrate_repetitions-$try" || status=$?
		if [ $status = 1 ] && [ $try -lt 3 ] && [ "$(migrate_crashes)" -gt "$crashes" ]; then
			echo "# a guest crashed in QEMU's emulator: once more" >&3
			try=$((try + 1))
		elif [ $status = 2 ]; then
			migrate_repetitions=$((2 * migrate_repetitions))
		else
			return $status
		fi
		migrate_end_all && within 180 migrate_nothing_left || return 1
	done
}

# Nothing is left that runs of what a body has started.
migrate_end_all() {
	local id
	for id in $(local_get c1 /v1/tasks | jq -r '.tasks[] | select(.state != "ended") | .id'); do
		local_status c1 DELETE "/v1/tasks/$id" >/dev/null && within 120 local_task_is c1 "$id" ended || return 1
	done
}

# Starts a task of two VMs. migrate_start ID NODES [REPETITIONS]
migrate_start() {
	local_put c1 "$1" "$(local_task cg S 2 "${3:-$migrate_repetitions}" "$2" 900)" &&
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

# Every VM is at a node but for one spare on each blade at most, which may not be there yet, and none is twice.
migrate_nothing_left() {
	local_all_ready c1 && migrate_is_whole b1 && migrate_is_whole b2 &&
		[ -z "$(for blade in b1 b2; do migrate_vms $blade | tr ' ' '\n'; done | sort | uniq -d | grep .)" ]
}

migrate_is_whole() {
	local vms wanted vm
	vms=$(migrate_vms "$1")
	wanted=$(migrate_wanted "$1")
	for vm in $wanted; do
		[[ " $vms" = *" $vm "* ]] || return 1
	done
	[ "$(wc -w <<<"$vms")" -le $(($(wc -w <<<"$wanted") + 1)) ]
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

cross() {
	local vm before
	migrate_start "$1-e" '[0, 1]' && migrate_start "$1-w" '[3, 4]' || return 1
	before=$(migrate_wanted b1)
	migrate_ask "$1-e" 1 '[5, 0]' || migrate_why "$1-e" || return $?
	migrate_ask "$1-w" 1 '[2, 4]' || migrate_why "$1-w" || return $?
	[ "$(local_status c1 PUT "/v1/tasks/$1-e/migrations/1" '{"nodes": [0, 5]}')" = 200 ] || return 1
	[ "$(local_status c1 PUT "/v1/tasks/$1-e/migrations/1" '{"nodes": [0, 2]}')" = 409 ] || return 1
	within 120 migrate_has_come "$1-e" 1 && within 120 migrate_has_come "$1-w" 1 || return 1
	[ "$(migrate_events "$1-e" task-migrated)" = 1 ] || return 2
	[ "$(migrate_events "$1-w" task-migrated)" = 1 ] || return 2
	migrate_assert_moved "$1-e" 1 && migrate_assert_moved "$1-w" 1 || return 1
	[ "$(local_get c1 "/v1/tasks/$1-e" | jq -c .nodes)" = "[0,5]" ] || return 1
	vm=$(migrate_vm 5)
	[[ "$before" = *"$vm "* ]] && migrate_is_capped b2 "$vm" || return 1
	local_assert_outcome c1 "$1-e" completed && local_assert_outcome c1 "$1-w" completed || return 1
	[ "$(migrate_events "$1-e" task-ended)" = 1 ] || return 1
	local_has_cpu_times c1 "$(local_get c1 "/v1/tasks/$1-e")" &&
		local_get c1 "/v1/tasks/$1-e" | jq -e '.host_energy_uj > 0'
}

@test "two tasks run on while VMs of theirs cross one another, and verify" {
	migrate_with cross 3
	within 180 migrate_nothing_left
}

# The VM at a node.
migrate_vm() {
	local_get c1 /v1/nodes | jq -r ".nodes[$1].vm"
}

# Asks for a migration of the VM at node 0 that takes a minute, and waits until it is under way. migrate_slowly ID N NODES
migrate_slowly() {
	local vm
	vm=$(migrate_vm 0)
	local_virsh b1 migrate-setspeed "$vm" 1
	migrate_ask "$1" "$2" "$3" && within 60 migrate_is_there "$vm" "$1" && ! local_task_is c1 "$1" ended
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
	migrate_slowly "$1" 1 '[3, 1]' || migrate_why "$1" || return $?
	kill -9 "$(local_libvirtd b2)" || return 1
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
	migrate_assert_moved "$1" 1 && local_assert_outcome c1 "$1" completed || return 1
	local_has_cpu_times c1 "$(local_get c1 "/v1/tasks/$1")" || return 1
	local_get c1 "/v1/tasks/$1" | jq -e '.host_energy_uj > 0'
}

# All nodes are ready but those that the task has.
migrate_all_usable() {
	local_get c1 /v1/nodes | jq -e "[.nodes[] | .state == \"ready\" or .task == \"$1\"] | all" >/dev/null
}

@test "a VM whose new host fails it runs on where it was, and goes at the next try" {
	migrate_with fails 3
	within 180 migrate_nothing_left
}

# Whether the quota of a VM is PERCENT of its period. migrate_quota_is BLADE VM PERCENT
migrate_quota_is() {
	local seen
	seen=$(local_virsh "$1" schedinfo "$2")
	awk -v wanted="$3" '/global_period/ {p = $3} /global_quota/ {q = $3}
		END {exit !(q > (wanted - 1) * p / 100 && q < (wanted + 1) * p / 100)}' <<<"$seen" || { echo "$seen"; return 1; }
}

migrate_has_share() {
	[ "$(local_get c1 "/v1/tasks/$1" | jq ".share | .n == $2 and .set_ns != null")" = true ]
}

# What is given is measured, and no more than what is asked for but for a tenth: quotas are kept over periods.
migrate_share_is_measured() {
	local_get c1 "/v1/tasks/$1" | jq -e '.share | .given_cores != null and .given_cores > 0 and
		.given_cores < 1.1 * .asked_cores' >/dev/null
}

@test "the VMs of a task have its share, wherever they go, until it is killed while one is on its way" {
	local vm
	local_put c1 shares "$(local_long_task)"
	within 120 local_task_is c1 shares running
	vm=$(migrate_vm 1)
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/1 '{"share": 1.5}')" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/1 '{"share": 0.5}')" = 201 ]
	within 60 migrate_has_share shares 1
	migrate_quota_is b1 "$vm" 30
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/1 '{"share": 0.2}')" = 200 ]
	migrate_quota_is b1 "$vm" 30
	within 60 migrate_share_is_measured shares
	migrate_ask shares 1 '[0, 4]'
	within 120 migrate_has_come shares 1
	migrate_quota_is b2 "$vm" 30
	# The last of many holds.
	for n in 2 3 4 5; do
		[ "$(local_status c1 PUT /v1/tasks/shares/shares/$n "{\"share\": 0.$n}")" = 201 ]
	done
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/6 '{"share": 1}')" = 201 ]
	within 60 migrate_has_share shares 6
	migrate_is_capped b2 "$vm"
	[ "$(local_status c1 PUT /v1/tasks/shares/shares/7 '{"share": 0.25}')" = 201 ]
	within 60 migrate_has_share shares 7
	migrate_quota_is b2 "$vm" 15
	migrate_slowly shares 2 '[3, 4]'
	[ "$(local_status c1 DELETE /v1/tasks/shares)" = 200 ]
	within 120 local_task_is c1 shares ended
	local_assert_outcome c1 shares killed
	local_get c1 /v1/tasks/shares |
		jq -e '[.migrations[]? | select(.n == 2) | .vms[] | select(.moved)] == []'
	[ "$(migrate_events shares task-migrated)" = 1 ]
	within 180 migrate_nothing_left
	migrate_is_capped b2 "$vm"
}

@test "a scheduler is killed while a VM with a share is on its way" {
	local_put c1 dies "$(local_long_task)"
	within 120 local_task_is c1 dies running
	[ "$(local_status c1 PUT /v1/tasks/dies/shares/1 '{"share": 0.5}')" = 201 ]
	within 60 migrate_has_share dies 1
	migrate_slowly dies 1 '[3, 1]'
	local_end KILL c1
	local_start c1
	within 240 migrate_nothing_left
	local_assert_outcome c1 dies lost
	[ "$(migrate_events dies task-ended)" = 1 ]
	migrate_is_capped b1 "$(migrate_vm 1)"
	local_assert_works c1 '[0, 3]'
}

# A certificate by a CA for what a blade's libvirt sends and takes in by TLS. migrate_certify CA BLADE
migrate_certify() {
	local pki=/var/lib/virtbed/lab/$local_lab/$2/etc/pki ca=$BATS_TEST_TMPDIR/$1 log=$BATS_TEST_TMPDIR/openssl.log
	mkdir -p "$pki"
	[ -f "$ca.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -days 2 \
		-keyout "$ca.key" -out "$ca.pem" 2>"$log"
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$pki/server-key.pem" \
		-out "$ca.csr" 2>"$log"
	openssl x509 -req -in "$ca.csr" -CA "$ca.pem" -CAkey "$ca.key" -CAcreateserial -days 2 -out "$pki/server-cert.pem" \
		-extfile <(echo "subjectAltName=IP:10.77.0.${2#b}") 2>"$log"
	cp "$ca.pem" "$pki/ca-cert.pem"
	cp "$pki/server-key.pem" "$pki/client-key.pem"
	cp "$pki/server-cert.pem" "$pki/client-cert.pem"
}

# Makes a blade's libvirtd read its configuration again; a process that ends in a blade is started again.
migrate_restart_libvirtd() {
	local old
	old=$(local_libvirtd "$1")
	kill "$old"
	within 60 migrate_has_libvirtd "$1" "$old"
}

migrate_has_libvirtd() {
	local new
	new=$(local_libvirtd "$1")
	[ -n "$new" ] && [ "$new" != "$2" ] && local_virsh "$1" list >/dev/null 2>&1
}

# The reasons of the migrations of a task that failed, a line each.
migrate_reasons() {
	local_get c1 '/v1/events?after=0' |
		jq -r ".events[] | select(.task == \"$1\" and .kind == \"task-migrate-failed\") | .detail.reason"
}

@test "memory goes by TLS where that is configured, and not to a host whose certificate is of another CA" {
	local blade
	local_end TERM c1
	for blade in b1 b2; do
		migrate_certify ours "$blade"
		echo 'migrate_tls_x509_cert_dir = "/etc/libvirt/pki"' >>"/var/lib/virtbed/lab/$local_lab/$blade/etc/qemu.conf"
		migrate_restart_libvirtd "$blade"
	done
	sed -i 's/{name: c1,/& migration_tls: true,/' "$BATS_FILE_TMPDIR/config.yaml"
	local_start c1
	within 240 local_all_ready c1
	local_put c1 tls "$(local_long_task)"
	within 120 local_task_is c1 tls running
	migrate_ask tls 1 '[0, 4]'
	within 120 migrate_has_come tls 1
	migrate_assert_moved tls 1
	migrate_certify theirs b1
	within 120 migrate_all_usable tls
	migrate_ask tls 2 '[0, 1]'
	within 120 migrate_has_failed tls
	migrate_reasons tls | grep -i certificate
	[ "$(local_get c1 /v1/tasks/tls | jq -c '[.state, .nodes]')" = '["running",[0,4]]' ]
	[ "$(local_virsh b2 domstate "$(migrate_vm 4)")" = running ]
	migrate_certify ours b1
	within 120 migrate_all_usable tls
	migrate_ask tls 2 '[0, 1]' 2
	within 120 migrate_has_come tls 2
	[ "$(migrate_events tls task-migrated)" = 2 ]
	migrate_assert_moved tls 1
	[ "$(local_status c1 DELETE /v1/tasks/tls)" = 200 ]
	within 120 local_task_is c1 tls ended
	within 180 migrate_nothing_left
	local_end TERM c1
	sed -i 's/ migration_tls: true,//' "$BATS_FILE_TMPDIR/config.yaml"
	local_start c1
	within 240 local_all_ready c1
}

# The Nth migration of a task is over, or it ends too early. migrate_once ID N NODES
migrate_once() {
	migrate_ask "$1" "$2" "$3" && within 300 migrate_has_come "$1" "$2" &&
		[ "$(migrate_events "$1" task-migrated)" = "$2" ] || migrate_why "$1"
}

# Ten VMs go alone, then ten of two tasks, in opposite directions at a time.
many() {
	local n there=('[0, 1]' '[0, 3]') east=('[0, 3]' '[0, 2]') west=('[1, 5]' '[4, 5]')
	migrate_start "$1" '[0, 1]' || return 1
	for n in 1 2 3 4 5 6 7 8 9 10; do
		migrate_once "$1" $n "${there[n % 2]}" || return $?
		within 120 migrate_crossed "$1" "$1" || return 1
	done
	local_assert_outcome c1 "$1" completed && within 180 migrate_nothing_left || return 1
	n=$((migrate_repetitions * 2 / 3))
	migrate_start "$1-e" '[0, 3]' $n && migrate_start "$1-w" '[1, 5]' $n || return 1
	for n in 1 2 3 4 5; do
		migrate_ask "$1-e" $n "${east[n % 2]}" || migrate_why "$1-e" || return $?
		migrate_once "$1-w" $n "${west[n % 2]}" || return $?
		within 300 migrate_has_come "$1-e" $n || return 1
		[ "$(migrate_events "$1-e" task-migrated)" = $n ] || return 2
		within 120 migrate_crossed "$1-e" "$1-w" || return 1
	done
	local_assert_outcome c1 "$1-e" completed && local_assert_outcome c1 "$1-w" completed || return 1
	migrate_distribution "alone" "$1"
	migrate_distribution "two at a time in opposite directions" "$1-[ew]"
}

# What the moves of tasks took: milliseconds, least, quartiles, most. migrate_distribution NAME PATTERN
migrate_distribution() {
	local_get c1 /v1/tasks | jq -r --arg name "$1" --arg tasks "^$2\$" '
		def five: sort | [.[(0, 0.25, 0.5, 0.75, 1) * (length - 1) | round]] | map(. / 1e6 | round) | join(" ");
		[.tasks[] | select(.id | test($tasks)) | .migrations[]?.vms[] | select(.total_ns)] |
		"# \($name): \(length) VMs; total \(map(.total_ns) | five) ms; down \(map(.downtime_ns) | five) ms"' >&3
}

# All nodes are ready but those of the two.
migrate_crossed() {
	local_get c1 /v1/nodes | jq -e "[.nodes[] | .state == \"ready\" or .task == \"$1\" or
		.task == \"$2\"] | all" >/dev/null
}

@test "twenty VMs go, alone and in opposite directions at a time, and all tasks verify" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	migrate_with many 24
}

# The tests below break hosts, the last ones for good.

migrate_slow_test() {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
}

# How many QEMUs of a VM there are.
migrate_count() {
	pgrep -f -- "^/usr/bin/qemu-system.* guest=$1," | wc -l
}

# That no VM of a cluster has two QEMUs, or will have. migrate_none_twice CLUSTER
migrate_none_twice() {
	[ -z "$(pgrep -af -- "^/usr/bin/qemu-system.* guest=virtbed-$local_lab-$1-n" |
		grep -o " guest=[^,]*" | sort | uniq -d)" ]
}

# That a task that was hit runs on, or has ended with a reason that is not its own fault. migrate_has_reason CLUSTER ID
migrate_has_reason() {
	local_get "$1" "/v1/tasks/$2" |
		jq -e '.state == "running" or (.outcome == "lost" and (.reason | length) > 0)' ||
		{ local_get "$1" "/v1/tasks/$2"; return 1; }
}

# CPU time that the VM at a node has had, in ns. migrate_cpu CLUSTER NODE
migrate_cpu() {
	local blade vm
	read -r blade vm < <(local_get "$1" /v1/nodes | jq -r ".nodes[$2] | .host + \" \" + .vm")
	local_virsh "$blade" domstats "$vm" --cpu-total | awk -F= '/cpu\.time=/ {print $2}'
}

migrate_has_had() {
	[ "$(migrate_cpu "$1" "$2")" -gt "$3" ]
}

# Starts a task of local_long_task() and has the VM at its first node move slowly, when its ranks have found one
# another: a rank that waits for an answer when its port is cut off aborts. That takes 2 s of a CPU.
# migrate_begin CLUSTER ID FROM TO BLADE
migrate_begin() {
	local vm node
	local -A before
	for node in $(jq '.[]' <<<"$3"); do
		before[$node]=$(migrate_cpu "$1" "$node")
	done
	local_put "$1" "$2" "$(local_long_task "$3")"
	within 120 local_task_is "$1" "$2" running
	for node in $(jq '.[]' <<<"$3"); do
		within 300 migrate_has_had "$1" "$node" $((before[$node] + 8000000000))
	done
	node=$(jq '.[0]' <<<"$3")
	vm=$(local_get "$1" /v1/nodes | jq -r ".nodes[$node].vm")
	migrate_moving=$vm
	local_virsh "$5" migrate-setspeed "$vm" 1
	[ "$(local_status "$1" PUT "/v1/tasks/$2/migrations/1" "{\"nodes\": $4}")" = 201 ]
	within 60 migrate_has_two "$vm"
}

migrate_has_two() {
	[ "$(migrate_count "$1")" = 2 ]
}

migrate_is_over() {
	local_get "$1" '/v1/events?after=0' | jq -e ".events | any(.task == \"$2\" and
		(.kind | test(\"task-migrated|task-migrate-failed|task-ended\")))" >/dev/null
}

@test "a VM of the task that dies while another one moves ends the task, and is free when it is back" {
	migrate_slow_test
	within 180 migrate_nothing_left
	migrate_begin c1 widow '[0, 1]' '[3, 1]' b1
	kill -9 "$(pgrep -f -- "^/usr/bin/qemu-system.* guest=$(migrate_vm 1),")"
	within 60 local_task_is c1 widow ended
	local_assert_outcome c1 widow lost
	local_get c1 /v1/nodes | jq -e '[.nodes[] | .task == null] | all'
	within 180 migrate_nothing_left
	migrate_none_twice c1
	local_assert_works c1 '[0, 1]'
	local_assert_works c1 '[3, 4]'
}

@test "the libvirtd of the host that a VM leaves dies: it is on one host, and its task runs on or has a reason" {
	migrate_slow_test
	within 180 migrate_nothing_left
	local_put c1 other "$(local_task cg S 2 12 '[4, 5]' 300)"
	migrate_begin c1 left '[0, 1]' '[3, 1]' b1
	kill -9 "$(local_libvirtd b1)"
	within 180 migrate_is_over c1 left
	migrate_has_reason c1 left
	local_get c1 /v1/tasks/left | jq -c '[.state, .outcome, .reason, .nodes]' >&3
	local_assert_outcome c1 other completed
	[ "$(local_status c1 DELETE /v1/tasks/left)" = 200 ]
	within 60 local_task_is c1 left ended
	within 180 migrate_nothing_left
	migrate_none_twice c1
	local_assert_works c1 '[0, 3]'
}

@test "a VM moves although the libvirtd of another one of its task is away" {
	local libvirtd
	migrate_slow_test
	local_start c2
	within 240 local_all_ready c2
	migrate_begin c2 away '[0, 2]' '[4, 2]' b3
	libvirtd=$(local_libvirtd b4)
	kill -STOP "$libvirtd"
	local_virsh b3 migrate-setspeed "$migrate_moving" 9000
	within_patience=1 within 50 migrate_is_over c2 away # sooner than any step ends that hangs
	local_get c2 /v1/tasks/away | jq -e '.migrations[0] | .reason == null and .vms[0].moved'
	# Longer than any step may take.
	sleep 65
	kill -CONT "$libvirtd"
	within 60 migrate_c2_usable away
	local_task_is c2 away running
	[ "$(local_status c2 DELETE /v1/tasks/away)" = 200 ]
	local_assert_outcome c2 away killed
	within 180 local_all_ready c2
	migrate_none_twice c2
}

migrate_c2_usable() {
	local_get c2 /v1/nodes |
		jq -e "[.nodes[] | .state == \"ready\" or .task == \"$1\"] | all" >/dev/null
}

# A whole host: all that runs there.
migrate_kill_blade() {
	kill -9 "$(lab_get "$local_lab" ".blades[] | select(.name == \"$1\") | .blade_pid")"
}

# Node N of c2 is ready.
migrate_is_free() {
	local_get c2 /v1/nodes | jq -e ".nodes[$1].state == \"ready\"" >/dev/null
}

# Whether node N is ready with another VM than VM. migrate_has_another N VM
migrate_has_another() {
	local_get c2 /v1/nodes | jq -e ".nodes[$1] | .state == \"ready\" and .vm != \"$2\"" >/dev/null
}

@test "the whole host that a VM goes to dies: it runs on where it was, and so do the others" {
	migrate_slow_test
	within 180 local_all_ready c2
	local_put c2 near "$(local_task cg S 2 12 '[2, 3]' 300)"
	migrate_begin c2 goes '[0, 1]' '[4, 1]' b3
	migrate_kill_blade b5
	within 180 migrate_is_over c2 goes
	local_get c2 '/v1/events?after=0' |
		jq -c '.events[] | select(.task == "goes" and .kind == "task-migrate-failed") | .detail.reason' >&3
	local_task_is c2 goes running
	[ "$(migrate_count "$migrate_moving")" = 1 ]
	migrate_none_twice c2
	local_assert_outcome c2 near completed
	[ "$(local_status c2 DELETE /v1/tasks/goes)" = 200 ]
	local_assert_outcome c2 goes killed
	# It may be on the host that is away as well: where it dies its node does not wait for that.
	within 60 migrate_is_free 0
	kill -9 "$(pgrep -f -- "^/usr/bin/qemu-system.* guest=$migrate_moving,")"
	within 180 migrate_has_another 0 "$migrate_moving"
	local_assert_works c2 '[0, 2]'
}

@test "the whole host that a VM leaves dies: its task ends when it is asked to, the others run on" {
	migrate_slow_test
	local_put c2 near2 "$(local_task cg S 1 12 '[3]' 300)"
	migrate_begin c2 leaves '[0, 1]' '[2, 1]' b3
	migrate_kill_blade b3
	local_assert_outcome c2 near2 completed
	migrate_none_twice c2
	[ "$(local_status c2 DELETE /v1/tasks/leaves)" = 200 ]
	within 60 local_task_is c2 leaves ended
	local_get c2 /v1/tasks/leaves | jq -c '[.outcome, .reason]' >&3
	local_get c2 /v1/tasks/leaves | jq -e '.reason | length > 0'
	migrate_none_twice c2
	within 120 migrate_works_alone 2
}

# A task of one VM works at NODE of c2.
migrate_works_alone() {
	local id=alone-$RANDOM
	local_put c2 "$id" "$(local_task is S 1 1 "[$1]" 200)" && local_assert_outcome c2 "$id" completed
}
