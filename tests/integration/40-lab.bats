#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Emulated blades: whole programs, real libvirtds, real BMCs, real control groups.

load lab

setup() {
	lab_require
	config=$BATS_TEST_TMPDIR/lab.yaml
	lab_write_config "$config" 2
	lab=$(lab_name a)
}

teardown() {
	# Busy loops of a test go first: a control group that holds a process stays.
	kill -9 $(cat "$BATS_TEST_TMPDIR/busy" "$BATS_TEST_TMPDIR/loops" 2>/dev/null) 2>/dev/null || true
	lab_down_all
	lab_remove_limited
}

# CPU time in nanoseconds that a group has used. usage_of GROUP
usage_of() {
	if [ -f "$1/cpu.stat" ] && grep -q '^usage_usec' "$1/cpu.stat"; then
		echo $(($(awk '/^usage_usec/ { print $2 }' "$1/cpu.stat") * 1000))
	else
		cat "$1/cpuacct.usage"
	fi
}

# So much CPU time was used since that reading. used GROUP SINCE MS
used() {
	[ $(($(usage_of "$1") - $2)) -ge $(($3 * 1000000)) ]
}

# Of 1000: the share of a CPU that a group with a busy loop gets over so much CPU time. share_of GROUP MS
share_of() {
	local from to started ended
	from=$(usage_of "$1")
	within 60 used "$1" "$from" 100
	# The time is taken around what is read: whatever comes between makes the share look smaller.
	started=$(date +%s%N)
	from=$(usage_of "$1")
	within 60 used "$1" "$from" "$2"
	to=$(usage_of "$1")
	ended=$(date +%s%N)
	echo $(((to - from) * 1000 / (ended - started)))
}

# Processes of the machine's own, to compare before and after: the lab's run in a pid namespace that
# the machine sees, so that counting what looks like ours is enough.
assert_nothing_left() {
	local remains
	remains=$(lab_remains "$1")
	[ -z "$remains" ] || { echo "left of $1:"; echo "$remains"; return 1; }
}

# lab_is NAME STATE
lab_is() {
	[ "$(lab_get "$1" .state)" = "$2" ]
}

no_process_of() {
	! pgrep -f -- "--role=[a-z]+ $1( |\$)|/lab/$1/" >/dev/null
}

no_longer_starting() {
	! lab_is "$1" starting
}

no_probes() {
	[ -z "$(find /sys/fs/cgroup -maxdepth 3 -name 'virtbed-.probe-*' 2>/dev/null)" ]
}

bmc_is_gone() {
	[ "$(lab_get "$1" '.blades[0].bmc_pid')" = null ]
}

libvirtd_is_another() {
	local pid
	pid=$(pgrep -P "$1" -x libvirtd) && [ "$pid" != "$2" ]
}

watts_below() {
	[ "$(lab_get "$1" ".blades[0].watts < $2")" = true ]
}

supervisor() {
	lab_get "$1" .pid
}

# Where blade N's control group of a controller is: below ours, or below those of the process that started the lab.
# group NAME CONTROLLER N
group() {
	find "$(lab_mount_of "$2")/" -path "*/virtbed-$1/b$3" -type d | head -n 1
}

@test "check says in one line whether a lab can run" {
	run "$virtbed_lab" check
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 1 ]
}

@test "check says in one line that there is no room for a lab" {
	run "$virtbed_lab" check "$config"
	[ "$status" -eq 0 ]
	sed 's/memory_mib: 128/memory_mib: 8000000/' "$config" >"$config.large"
	run "$virtbed_lab" check "$config.large"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == "the VMs of this lab need 15625.2 GiB of memory, and "*" are available: end what else"* ]]
	run "$virtbed_lab" up "$config.large" --name "$lab"
	[ "$status" -eq 2 ]
	[[ "$output" == *"need 15625.2 GiB of memory"* ]]
	[ "$(lab_get "$lab" .state)" = down ]
	sed 's/memory_mib: 128/memory_mib: 128, swap_mib: 60000000/' "$config" >"$config.large"
	run "$virtbed_lab" check "$config.large"
	[ "$status" -eq 1 ]
	[[ "$output" == "this lab needs "*" GiB of disk, and "* ]]
}

@test "bad usage and bad input exit with 2 and say why" {
	run "$virtbed_lab"
	[ "$status" -eq 2 ]
	run "$virtbed_lab" up
	[ "$status" -eq 2 ]
	run "$virtbed_lab" up "$BATS_TEST_TMPDIR/none.yaml"
	[ "$status" -eq 2 ]
	[[ "$output" == *none.yaml* ]]
	run "$virtbed_lab" up "$config" --name ../../etc
	[ "$status" -eq 2 ]
	run "$virtbed_lab" down --name ../../etc
	[ "$status" -eq 2 ]
	run "$virtbed_lab" up "$config" --frobnicate
	[ "$status" -eq 2 ]
	sed '/^lab:/,$d; s/hosts: \[.*\]/hosts: [{uri: "test:\/\/\/default"}]/' "$config" >"$config.nolab"
	run "$virtbed_lab" up "$config.nolab"
	[ "$status" -eq 2 ]
	[[ "$output" == *"$config.nolab: "* ]]
}

@test "up, status, down; then nothing is left" {
	lab_up "$config" "$lab"
	run "$virtbed_lab" status --name "$lab"
	[ "$status" -eq 0 ]
	[ "$(lab_get "$lab" '.state')" = up ]
	[ "$(lab_get "$lab" '[.blades[] | select(.libvirt)] | length')" = 2 ]
	[ "$(virsh -c "$(lab_uri "$lab" b2)" hostname)" = b2 ]
	run "$virtbed_lab" down --name "$lab"
	[ "$status" -eq 0 ]
	assert_nothing_left "$lab"
	run "$virtbed_lab" status --name "$lab"
	[ "$status" -eq 1 ]
	[ "$(lab_get "$lab" .state)" = down ]
}

# Mounts without those that other tests make meanwhile.
mounts() {
	cut -d' ' -f2,3 /proc/mounts | grep -v "^${BATS_RUN_TMPDIR%/*}/bats-run-"
}

@test "the machine's links and mounts are as before" {
	ip -o link | cut -d' ' -f2 >"$BATS_TEST_TMPDIR/links"
	mounts >"$BATS_TEST_TMPDIR/mounts"
	lab_up "$config" "$lab"
	diff "$BATS_TEST_TMPDIR/links" <(ip -o link | cut -d' ' -f2)
	diff "$BATS_TEST_TMPDIR/mounts" <(mounts)
	"$virtbed_lab" down --name "$lab"
	diff "$BATS_TEST_TMPDIR/links" <(ip -o link | cut -d' ' -f2)
	diff "$BATS_TEST_TMPDIR/mounts" <(mounts)
}

@test "up and down are idempotent" {
	lab_up "$config" "$lab"
	local pid
	pid=$(supervisor "$lab")
	lab_up "$config" "$lab"
	[ "$(supervisor "$lab")" = "$pid" ]
	"$virtbed_lab" down --name "$lab"
	"$virtbed_lab" down --name "$lab"
}

@test "a lab that runs is not changed by another configuration of its name" {
	lab_up "$config" "$lab"
	sed 's/core_w: 100/core_w: 101/' "$config" >"$config.other"
	run "$virtbed_lab" up "$config.other" --name "$lab"
	[ "$status" -eq 1 ]
	[[ "$output" == *"other blades"* ]]
	[ "$(lab_get "$lab" .state)" = up ]
}

@test "the record has what a daemon needs, and the password is for root alone" {
	lab_up "$config" "$lab"
	local record=/run/virtbed/lab/$lab/lab.json file
	jq -e '.blades | length == 2 and all(.uri and .bridge == "br0" and .bmc.port > 0)' "$record"
	file=$(jq -r '.blades[0].bmc.password_file' "$record")
	[ "$(stat -c %a "$file")" = 600 ]
	if grep -q -F "$(cat "$file")" "$record"; then return 1; fi
	# No process shows it in its arguments either.
	if ps -eo args= | grep -v grep | grep -q -F "$(cat "$file")"; then return 1; fi
}

@test "two labs stand side by side" {
	local other
	other=$(lab_name b)
	lab_up "$config" "$lab" &
	lab_up "$config" "$other"
	wait $!
	[ "$(lab_get "$lab" .state)" = up ]
	[ "$(lab_get "$other" .state)" = up ]
	[ "$(lab_get "$lab" '.blades[].bmc.port')" != "$(lab_get "$other" '.blades[].bmc.port')" ]
	[ "$(virsh -c "$(lab_uri "$lab" b1)" capabilities | grep -m 1 uuid)" != \
		"$(virsh -c "$(lab_uri "$other" b1)" capabilities | grep -m 1 uuid)" ]
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
	[ "$(lab_get "$other" '[.blades[] | select(.libvirt)] | length')" = 2 ]
	[ "$(lab_watts "$other" b1)" = 60 ]
}

@test "kill -9 of the supervisor ends every process, and down removes the rest" {
	lab_up "$config" "$lab"
	kill -9 "$(supervisor "$lab")"
	within 20 lab_is "$lab" dead
	run "$virtbed_lab" status --name "$lab"
	[ "$status" -eq 1 ]
	within 20 no_process_of "$lab"
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

@test "up over a lab that died starts it again" {
	lab_up "$config" "$lab"
	kill -9 "$(supervisor "$lab")"
	within 20 lab_is "$lab" dead
	lab_up "$config" "$lab"
	[ "$(lab_get "$lab" '[.blades[] | select(.libvirt)] | length')" = 2 ]
}

@test "the death of the fabric is the death of the lab" {
	lab_up "$config" "$lab"
	kill -9 "$(lab_get "$lab" .fabric_pid)"
	within 20 lab_is "$lab" dead
	within 20 no_process_of "$lab"
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

@test "an up that is killed at any moment leaves nothing that down does not remove" {
	local delay pid
	for delay in 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.13 0.16 0.2; do
		lab_register "$lab"
		"$virtbed_lab" up "$config" --name "$lab" >/dev/null 2>&1 &
		pid=$!
		sleep $delay
		kill -9 $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		"$virtbed_lab" down --name "$lab"
		assert_nothing_left "$lab" || { echo "killed after $delay s"; return 1; }
	done
	# A probe that is killed leaves a group to the next probe.
	"$virtbed_lab" check
	within 10 no_probes
}

@test "an up that is killed does not leave a half lab running" {
	lab_register "$lab"
	"$virtbed_lab" up "$config" --name "$lab" 2>"$BATS_TEST_TMPDIR/progress" &
	local pid=$!
	within 20 test -s "$BATS_TEST_TMPDIR/progress"
	kill -9 $pid 2>/dev/null || true
	wait $pid 2>/dev/null || true
	# Either it was done at that moment, or its end ended the lab.
	within 20 no_longer_starting "$lab"
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

@test "an interrupted up cleans up after itself" {
	lab_register "$lab"
	"$virtbed_lab" up "$config" --name "$lab" 2>"$BATS_TEST_TMPDIR/progress" &
	local pid=$! result=0
	within 20 test -d "/run/virtbed/lab/$lab"
	kill -TERM $pid 2>/dev/null || true
	wait $pid || result=$?
	if [ $result -ne 0 ]; then
		assert_nothing_left "$lab"
	else
		[ "$(lab_get "$lab" .state)" = up ]
	fi
}

@test "down during up wins" {
	lab_register "$lab"
	"$virtbed_lab" up "$config" --name "$lab" >/dev/null 2>&1 &
	local pid=$!
	within 20 test -f "/run/virtbed/lab/$lab/lab.json"
	"$virtbed_lab" down --name "$lab"
	wait $pid || true
	assert_nothing_left "$lab"
}

@test "a lab whose record was removed is still found" {
	lab_up "$config" "$lab"
	rm "/run/virtbed/lab/$lab/lab.json"
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

@test "a blade's CPU budget bites" {
	lab_up "$config" "$lab"
	local cpu accounting i share
	cpu=$(group "$lab" cpu 1)
	accounting=$(group "$lab" cpuacct 1)
	for i in 1 2; do
		sh -c 'while :; do :; done' &
		echo $! >>"$BATS_TEST_TMPDIR/busy"
		if [ -f "$cpu/cpu.max" ]; then
			mkdir -p "$cpu/test"
			echo $! >"$cpu/test/cgroup.procs"
		else
			echo $! >"$cpu/cgroup.procs"
			echo $! >"$accounting/cgroup.procs"
		fi
	done
	share=$(share_of "$accounting" 900)
	kill -9 $(cat "$BATS_TEST_TMPDIR/busy")
	wait 2>/dev/null || true
	rm "$BATS_TEST_TMPDIR/busy"
	echo "share: $share of 1000; budget 300"
	# Two loops would take 1 to 2 cores. Under load they may get less than the budget, never more.
	[ "$share" -le 330 ]
}

@test "ipmitool reads a blade's idle watts by DCMI and by its sensor" {
	lab_up "$config" "$lab"
	run lab_ipmitool "$lab" b1 dcmi power reading
	[ "$status" -eq 0 ]
	[ "$(lab_watts "$lab" b1)" = 60 ]
	run lab_ipmitool "$lab" b2 sensor reading "Pwr Consumption"
	[ "$status" -eq 0 ]
	[[ "$output" == *60* ]]
}

@test "a BMC that dies stays dead, and its blade lives on" {
	lab_up "$config" "$lab"
	kill -9 "$(lab_get "$lab" '.blades[0].bmc_pid')"
	within 20 bmc_is_gone "$lab"
	run lab_ipmitool "$lab" b1 dcmi power reading
	[ "$status" -ne 0 ]
	[ "$(lab_get "$lab" '.blades[0].libvirt')" = true ]
	[ "$(lab_watts "$lab" b2)" = 60 ]
}

@test "a libvirtd that dies is started again" {
	lab_up "$config" "$lab"
	local blade old
	blade=$(lab_get "$lab" '.blades[0].blade_pid')
	old=$(pgrep -P "$blade" -x libvirtd)
	kill -9 "$old"
	within 20 libvirtd_is_another "$blade" "$old"
	within 20 virsh -c "$(lab_uri "$lab" b1)" version --daemon
}

# A bridge without an address of its own takes its ports' lowest; migrations hung when it changed.
@test "a blade's address on the network stays when a VM's port comes" {
	lab_up "$config" "$lab"
	local blade before
	blade=$(lab_get "$lab" '.blades[0].blade_pid')
	before=$(nsenter -t "$blade" -n ip -j link show br0 | jq -r '.[0].address')
	nsenter -t "$blade" -n ip link add low address 00:00:5e:00:53:01 type veth peer name end
	nsenter -t "$blade" -n ip link set low master br0 up
	[ "$(nsenter -t "$blade" -n ip -j link show br0 | jq -r '.[0].address')" = "$before" ]
	[ "$(nsenter -t "$(lab_get "$lab" '.blades[1].blade_pid')" -n ip -j link show br0 | jq -r '.[0].address')" != "$before" ]
}

@test "a VM boots, its load shows in the watts, it migrates, and goes with the lab" {
	lab_require_image
	lab_up "$config" "$lab"
	local one two peak=0 watts until
	one=$(lab_uri "$lab" b1)
	two=$(lab_uri "$lab" b2)
	lab_write_domain "$BATS_TEST_TMPDIR/vm.xml" vm 10.77.1.11
	virsh -c "$one" create "$BATS_TEST_TMPDIR/vm.xml"
	# The boot is a load: 0.3 cores at most, so 60 to 90 W.
	until=$((SECONDS + 120 * within_patience))
	until virsh -c "$one" qemu-agent-command vm '{"execute": "guest-ping"}' >/dev/null 2>&1; do
		[ $SECONDS -lt $until ]
		watts=$(lab_watts "$lab" b1)
		[ "$watts" -le "$peak" ] || peak=$watts
	done
	echo "peak $peak W"
	[ "$peak" -ge 75 ] && [ "$peak" -le 95 ]
	[ "$(lab_watts "$lab" b2)" -eq 60 ]
	within 60 watts_below "$lab" 66
	virsh -c "$one" migrate --live --p2p --persistent --undefinesource vm \
		qemu+tcp://10.77.0.2/system tcp://10.77.0.2
	[ "$(virsh -c "$two" domstate vm)" = running ]
	[ "$(lab_get "$lab" '.blades[0].domains')" = 0 ]
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

@test "the blades' storage is their own" {
	lab_up "$config" "$lab"
	local uri
	uri=$(lab_uri "$lab" b1)
	virsh -c "$uri" pool-define-as images dir --target /var/lib/libvirt/images
	virsh -c "$uri" pool-start images
	virsh -c "$uri" vol-create-as images probe 1M --format raw
	head -c 1M /dev/urandom >"$BATS_TEST_TMPDIR/probe"
	virsh -c "$uri" vol-upload --pool images probe "$BATS_TEST_TMPDIR/probe"
	cmp "$BATS_TEST_TMPDIR/probe" "/var/lib/virtbed/lab/$lab/b1/lib/images/probe"
	[ ! -e /var/lib/libvirt/images/probe ]
	run virsh -c "$(lab_uri "$lab" b2)" pool-info images
	[ "$status" -ne 0 ]
}

@test "the machine's own libvirt configuration does not leak into a blade" {
	lab_up "$config" "$lab"
	local uri
	uri=$(lab_uri "$lab" b1)
	[ -z "$(virsh -c "$uri" net-list --all --name | tr -d '[:space:]')" ]
	[ -z "$(virsh -c "$uri" pool-list --all --name | tr -d '[:space:]')" ]
	[ -z "$(virsh -c "$uri" list --all --name | tr -d '[:space:]')" ]
}

# A VM's group of blade b1 with a quota, and a busy loop in it. busy_vm NAME QUOTA_US
busy_vm() {
	local cpu account
	cpu=$(group "$1" cpu 1)/machine/vm
	account=$(group "$1" cpuacct 1)/machine/vm
	mkdir -p "$cpu" "$account"
	if [ -f "$cpu/cpu.max" ]; then
		echo +cpu >"${cpu%/vm}/cgroup.subtree_control"
		echo "$2 100000" >"$cpu/cpu.max"
	else
		echo "$2" >"$cpu/cpu.cfs_quota_us"
	fi
	sh -c 'while :; do :; done' &
	echo $! >>"$BATS_TEST_TMPDIR/busy"
	echo $! >"$cpu/cgroup.procs"
	echo $! >"$account/cgroup.procs"
}

# What the VM of busy_vm may use now. quota_of NAME
quota_of() {
	local cpu
	cpu=$(group "$1" cpu 1)/machine/vm
	cut -d' ' -f1 "$cpu/cpu.max" 2>/dev/null || cat "$cpu/cpu.cfs_quota_us"
}

quota_is_not() {
	[ "$(quota_of "$1")" -ne "$2" ]
}

has_pace() {
	[ "$(lab_get "$1" '.pace')" != null ]
}

has_no_pace() {
	! has_pace "$1"
}

@test "limits of the process that starts a lab bound its VMs, and down finds it from anywhere" {
	local share
	lab_make_limited 20000
	sed 's/^lab:/lab:\n  overcommit: yes/' "$config" >"$config.over"
	lab_register "$lab"
	lab_in_limited "$virtbed_lab" up "$config.over" --name "$lab"
	[[ "$(group "$lab" cpu 1)" == */$lab-limited/virtbed-$lab/b1 ]]
	# Version 1 lets no VM have more than its blade, whose budget is what the group above has, not 0.3.
	busy_vm "$lab" 20000
	share=$(share_of "$(group "$lab" cpuacct 1)/machine" 300)
	echo "share: $share of 1000"
	[ "$share" -le 220 ]
	[ "$(lab_get "$lab" .state)" = up ]
	kill -9 $(cat "$BATS_TEST_TMPDIR/busy")
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

@test "a lab has its quotas beside others that are busy" {
	local i share
	lab_up "$config" "$lab"
	for i in $(seq $(($(nproc) * 3))); do
		setsid sh -c 'while :; do :; done' &
		echo $! >>"$BATS_TEST_TMPDIR/loops"
	done
	busy_vm "$lab" 25000
	share=$(share_of "$(group "$lab" cpuacct 1)/machine" 500)
	kill -9 $(cat "$BATS_TEST_TMPDIR/loops" "$BATS_TEST_TMPDIR/busy")
	echo "share: $share of 1000; quota 250"
	# Other labs of this machine weigh as much; without a weight it was half of the quota.
	[ "$share" -ge 190 ]
}

@test "a configuration that takes more than its process may have is refused, or fitted" {
	lab_make_limited 50000
	lab_register "$lab"
	run lab_in_limited "$virtbed_lab" up "$config" --name "$lab"
	[ "$status" -eq 2 ]
	[[ "$output" == *"may use 0.50 cores, more than 80 % of the 0.5 that this machine lets us use"*"fit: yes"* ]]
	sed 's/^lab:/lab:\n  fit: yes/' "$config" >"$config.fit"
	run lab_in_limited "$virtbed_lab" up "$config.fit" --name "$lab"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(lab_get "$lab" '.blades[0].cpu_cores < 0.25')" = true ]
	jq -e '.cores > 0 and .cores < 0.55 and .speed > 0' "/run/virtbed/lab/$lab/probe.json"
	# Another shell, which is not so limited, finds it, and it is the same lab.
	lab_up "$config.fit" "$lab"
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

no_other_probe() {
	! pgrep -f '^[^ ]*virtbed-lab probe' >/dev/null
}

@test "probe says what a lab gets of this machine, and leaves nothing" {
	run "$virtbed_lab" probe --seconds 1 --json
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(jq ".cores > 0 and .cores <= $(nproc) + 0.1 and .speed > 0 and .memory_mib > 0 and .disk_mib > 0" <<<"$output")" = true ]
	lab_make_limited 30000
	run lab_in_limited "$virtbed_lab" probe --seconds 1 --json
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(jq '.cores <= 0.35' <<<"$output")" = true ]
	run lab_in_limited "$virtbed_lab" probe --seconds 1
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *" cores for the lab, speed "* ]]
	within 10 no_other_probe
	"$virtbed_lab" check
	no_probes
	[ -z "$(ls -d /run/virtbed/lab/.probe-* /var/lib/virtbed/lab/.probe-* 2>/dev/null)" ]
	run "$virtbed_lab" probe --seconds 0
	[ "$status" -eq 2 ]
}

@test "a lab is fitted to the probe that is given" {
	sed 's/^lab:/lab:\n  fit: yes/' "$config" >"$config.fit"
	echo '{"cores": 0.25, "speed": 1}' >"$BATS_TEST_TMPDIR/probe.json"
	lab_up "$config.fit" "$lab" --probe "$BATS_TEST_TMPDIR/probe.json"
	# 80 % of 0.25 cores for 0.5 that are configured.
	[ "$(lab_get "$lab" '.blades[0].cpu_cores')" = 0.12 ]
	echo '{"cores": 0.25}' >"$BATS_TEST_TMPDIR/probe.json"
	run "$virtbed_lab" up "$config.fit" --name "$lab" --probe "$BATS_TEST_TMPDIR/probe.json"
	[ "$status" -eq 1 ]
	[[ "$output" == *"probe.json: 'speed' is not a number"* ]]
}

@test "a steady lab scales quotas after half a minute of work, while its metronome lives" {
	sed 's/^lab:/lab:\n  steady: yes/; s/cpu_cores: 0.3/cpu_cores: 1/' "$config" >"$config.steady"
	lab_up "$config.steady" "$lab"
	has_no_pace "$lab"
	busy_vm "$lab" 80000
	within 120 has_pace "$lab"
	[ "$(lab_get "$lab" '.pace >= 0.6 and .pace <= 1.25')" = true ]
	within 20 quota_is_not "$lab" 80000
	pkill -9 -f "mem-path=/run/virtbed/lab/$lab/metronome.ram"
	within 20 has_no_pace "$lab"
	[ "$(lab_get "$lab" .state)" = up ]
	kill -9 "$(cat "$BATS_TEST_TMPDIR/busy")"
	"$virtbed_lab" down --name "$lab"
	assert_nothing_left "$lab"
}

patience() {
	"$@" env -u VIRTBED_PATIENCE bash -c ". '$BATS_TEST_DIRNAME/within.bash' && echo \$within_patience"
}

@test "tests wait longer where there are fewer CPUs" {
	local alone
	alone=$(patience)
	[ "$alone" -ge 3 ]
	lab_make_limited 50000
	[ "$(patience lab_in_limited)" -eq 12 ]
}
