#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Caps of the CPUs of the local scheduler's own machine, on a /sys of the test's own: what `virtbed nodes`
# shows of them, and that they are put back however the local scheduler ends.

load lab

setup() {
	[ -x "$lab_build/local-sched/virtbed-local-sched" ] || skip "not built"
	virtbed=$lab_build/controller/cli/virtbed
	dir=$BATS_TEST_TMPDIR
	cpus=$dir/sys/devices/system/cpu
	address=unix:$dir/s
	make_machine
	make_image
	write_config
}

teardown() {
	[ ! -f "$dir/pid" ] || end KILL
}

# Two CPUs with two frequencies and two idle states.
make_machine() {
	local cpu
	for cpu in cpu0 cpu1; do
		mkdir -p "$cpus/$cpu/cpufreq" "$cpus/$cpu/cpuidle/state0" "$cpus/$cpu/cpuidle/state1"
		echo 2660000 >"$cpus/$cpu/cpufreq/scaling_max_freq"
		echo 1596000 >"$cpus/$cpu/cpufreq/scaling_cur_freq"
		printf '%s\n' C1 >"$cpus/$cpu/cpuidle/state0/name"
		printf '%s\n' C6 >"$cpus/$cpu/cpuidle/state1/name"
		echo 2 >"$cpus/$cpu/cpuidle/state0/latency"
		echo 133 >"$cpus/$cpu/cpuidle/state1/latency"
		echo 0 | tee "$cpus/$cpu/cpuidle/state0/disable" >"$cpus/$cpu/cpuidle/state1/disable"
		echo 7 | tee "$cpus/$cpu/cpuidle/state0/usage" >"$cpus/$cpu/cpuidle/state1/usage"
	done
}

# Three files of one byte.
make_image() {
	local name sum
	mkdir "$dir/image"
	sum=$(printf x | sha256sum | cut -d ' ' -f 1)
	for name in vmlinuz initramfs root.squashfs; do
		printf x >"$dir/image/$name"
	done
	jq -n --arg sum "$sum" '{files: [("vmlinuz", "initramfs", "root.squashfs") | {name: ., bytes: 1, sha256: $sum}],
		packages: [{name: "libmpich12", version: "4.0.2-3"}]}' >"$dir/image/manifest.json"
}

write_config() {
	cat >"$dir/config.yaml" <<END
name: caps
clusters:
  - name: c1
    nodes: 1
    cores: 1
    memory_mib: 112
    max_mhz: 1600
    base_mhz: 2660
    max_cstate: C1
    local_scheduler: $address
    hosts: [{name: h1, uri: "test:///default", sys_root: "$dir/sys", dev_root: "$dir"}]
types:
  - {name: IS.S.1, benchmark: is, class: S, cores: 1, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
END
}

start() {
	"$lab_build/local-sched/virtbed-local-sched" --config "$dir/config.yaml" --cluster c1 --listen "$address" \
		--state "$dir/state" --image "$dir/image" >>"$dir/log" 2>&1 3>&- &
	echo $! >"$dir/pid"
	disown
	within 30 answers
}

answers() {
	curl -s --unix-socket "$dir/s" http://localhost/v1/capabilities >/dev/null
}

# Ends it by SIGNAL. end SIGNAL
end() {
	local pid
	pid=$(cat "$dir/pid")
	rm -f "$dir/pid"
	kill -"$1" "$pid" || return 0
	within 30 gone "$pid"
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

assert_capped() {
	[ "$(grep -h '' "$cpus"/cpu*/cpufreq/scaling_max_freq | sort -u)" = 1600000 ]
	[ "$(grep -h '' "$cpus"/cpu*/cpuidle/state1/disable | sort -u)" = 1 ]
	[ "$(grep -h '' "$cpus"/cpu*/cpuidle/state0/disable | sort -u)" = 0 ]
}

assert_untouched() {
	[ "$(grep -h '' "$cpus"/cpu*/cpufreq/scaling_max_freq | sort -u)" = 2660000 ]
	[ "$(grep -h '' "$cpus"/cpu*/cpuidle/state?/disable | sort -u)" = 0 ]
}

# A column of the row of KNOB. column KNOB KEY
column() {
	"$virtbed" nodes --at "$address" --json | jq -r ".nodes[0].caps[] | select(.knob == \"$1\") | .$2"
}

is_not_effective() {
	[ "$(column idle effective)" = no ]
}

@test "nodes shows what was asked for, set, read back, and whether it does anything" {
	start
	assert_capped
	run "$virtbed" nodes "$dir/config.yaml"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" =~ NODE.*REQUESTED.*SET.*READ-BACK.*EFFECTIVE ]]
	[[ "${lines[1]}" =~ ^c1-n0.*frequency\ +1600\ MHz\ +1600\ MHz\ +1600\ MHz\ +yes ]]
	[[ "${lines[2]}" =~ boost\ +off\ +-\ +-\ +unknown\ +"the machine has no switch for it" ]]
	[[ "${lines[3]}" =~ idle\ +C1\ +"deeper states off"\ +"2 of 2 states off"\ +unknown ]]
	# A driver that takes the cap and enters the state all the same, as haltpoll does.
	echo 1000 >"$cpus/cpu1/cpuidle/state1/usage"
	within 30 is_not_effective
	[[ "$(column idle reason)" == *"entered though they are disabled"*"cpu_dma_latency"* ]]
	[ "$(curl -s --unix-socket "$dir/s" http://localhost/v1/capabilities | jq -r .caps_effective)" = no ]
	end TERM
	assert_untouched
}

@test "what a local scheduler that was killed left is put back by the next one" {
	start
	end KILL
	assert_capped
	start
	assert_capped
	end TERM
	assert_untouched
}

@test "lab down puts back what a local scheduler of this machine left" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ ! -e /run/virtbed/cpu-caps ] || skip "a local scheduler holds this machine's knobs"
	local knob=$cpus/cpu0/cpufreq/scaling_max_freq
	mkdir -p /run/virtbed
	printf 'virtbed-caps 1 %s\n%s\t2660000\n' "$(cat /proc/sys/kernel/random/boot_id)" "$knob" >/run/virtbed/cpu-caps
	echo 1600000 >"$knob"
	run "$virtbed" lab down --name "$(lab_name caps)"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"1 CPU settings are as they were"* ]]
	assert_untouched
	[ ! -e /run/virtbed/cpu-caps ]
}

# Cases: a folder of caps/ each, with
#   cluster   the cluster's caps
#   files     "PATH TEXT", "PATH -> TARGET" or "PATH/", below devices/system/cpu; "/PATH" beside sys
#   kernel    what the kernel does when PATH is written: $when (before, after), $file, $value
#   later     what happens while the local scheduler is looked at for the $seen-th time
#   expect    what comes to be so: "KNOB.COLUMN PATTERN", "file PATH TEXT", "stored REGEX" of the originals, and of the
#             capabilities "KEY VALUE"; "never KNOB.COLUMN PATTERN" is never so

# Makes a machine of FILES.
make_case_machine() {
	local path text
	rm -rf "$dir/sys"
	while read -r path text; do
		case $path in
		/*) path=$dir$path ;;
		*) path=$cpus/$path ;;
		esac
		mkdir -p "${path%/*}"
		case $text in
		"-> "*) ln -s "${text#-> }" "$path" ;;
		*) [ "${path%/}" != "$path" ] || printf '%b\n' "$text" >"$path" ;;
		esac
	done <"$1"
}

# Whatever may be set, as one text.
knobs() {
	(cd "$cpus" && find . -type f \( -name 'scaling_m*_freq' -o -name disable -o -name boost -o -name no_turbo \) |
		sort | xargs grep '')
}

# Whether one line of `expect` holds.
holds() {
	local what=$1 text=$2 value
	case $what in
	file) [ "$(cat "$cpus/${text% *}")" = "${text##* }" ] ;;
	stored) grep -qP "$text" "$dir/state/cpu-caps-h1" ;;
	not-stored) ! grep -q "$text" "$dir/state/cpu-caps-h1" ;;
	never) ! holds "${text%% *}" "${text#* }" ;;
	*.*)
		value=$(jq -r ".nodes[0].caps[] | select(.knob == \"${what%.*}\") | .${what#*.} // \"-\"" "$dir/nodes")
		# shellcheck disable=SC2053
		[[ "$value" == $text ]]
		;;
	*) [ "$(jq -r ".$what" "$dir/capabilities")" = "$text" ] ;;
	esac
}

# Looks once. Fails the test for what must never be so; false while something is not yet so.
as_expected() {
	local what text missing=
	seen=$((seen + 1))
	[ ! -e "$case/later" ] || (cd "$cpus" && . "$case/later")
	"$virtbed" nodes --at "$address" --json >"$dir/nodes"
	curl -s --unix-socket "$dir/s" http://localhost/v1/capabilities >"$dir/capabilities"
	while read -r what text; do
		holds "$what" "$text" && continue
		[ "$what" != never ] || echo "$text" >>"$dir/never"
		missing="$what $text"
	done <"$case/expect"
	echo "$missing" >"$dir/missing"
	[ -z "$missing" ] || [ -e "$dir/never" ]
}

# run_case NAME
run_case() {
	local case=$BATS_TEST_DIRNAME/caps/$1 seen=0 before
	make_case_machine "$case/files"
	write_config
	sed -i '/^    max_mhz:/d; /^    base_mhz:/d; /^    max_cstate:/d' "$dir/config.yaml"
	sed -i "s|^    memory_mib: 112|&\n    $(sed 's/, /\\n    /g' "$case/cluster")|" "$dir/config.yaml"
	printf '#!/bin/sh\ncd "%s" || exit\nwhen=$1 file=${2#%s/} value=$3\n' "$cpus" "$cpus" >"$dir/kernel"
	[ ! -e "$case/kernel" ] || cat "$case/kernel" >>"$dir/kernel"
	echo 'exit 0' >>"$dir/kernel"
	chmod +x "$dir/kernel"
	before=$(knobs)
	CAPS_SYS=$dir/sys CAPS_DEV=$dir CAPS_KERNEL=$dir/kernel ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} \
		LD_PRELOAD=$lab_build/tests/integration/caps/caps-kernel.so start
	within 10 as_expected || { cat "$dir/missing" "$dir/nodes" "$dir/log"; false; }
	[ ! -e "$dir/never" ] || { cat "$dir/never" "$dir/nodes" "$dir/log"; false; }
	"$virtbed" nodes "$dir/config.yaml"
	end TERM
	diff <(echo "$before") <(knobs)
	cat "$dir/log"
	! grep -q "is not as it was" "$dir/log"
	! grep -q "another program has set" "$dir/log"
	[ ! -e "$dir/state/cpu-caps-h1" ]
}

@test "a hardware maximum below the cap is within it" {
	run_case above-hardware
}

@test "boost that resets the maximum comes first" {
	run_case boost-resets-maximum
}

@test "a maximum that boost moves, on a driver with a table, is put back as it was" {
	run_case acpi-cpufreq
}

@test "boost of each policy, which resets the maximum a moment later (amd_pstate)" {
	run_case amd-pstate
}

@test "the clock of before the cap proves nothing" {
	run_case busy-when-set
}

@test "a CPU that is faster throughout is found out by looks" {
	run_case faster-throughout
}

@test "an idle CPU proves nothing, whatever clock it shows" {
	run_case idle-cpu
}

@test "the time in each state decides" {
	run_case time-in-state
	run_case time-in-state-faster
}

@test "APERF and MPERF decide" {
	run_case aperf-mperf
	run_case aperf-mperf-faster
}

@test "C1 stands for C1_ACPI" {
	run_case c1-acpi
}

@test "a C-state deeper than any holds" {
	run_case shallower-than-cap
	run_case no-cstate-between
}

@test "a state of the firmware's table is what its description says" {
	run_case c2-is-c6
	run_case depth-hidden
}

@test "the lowest frequency is taken where it is near enough" {
	run_case lowest-is-1600
	run_case lowest-too-high
}

@test "offline CPUs do not count" {
	run_case offline-cpus
}

@test "CPUs that are offline because SMT is off do not count" {
	run_case smt-off
}

@test "cores of two kinds, which share policies, have caps and states of their own" {
	run_case hybrid-cores
}

@test "turbo that is off in the firmware is off" {
	run_case turbo-off-in-firmware
}

@test "turbo that cannot be switched off is on" {
	run_case turbo-refused
}

@test "a minimum above the cap makes way (intel_cpufreq)" {
	run_case intel-cpufreq
}

@test "states that cannot be disabled are bounded by cpu_dma_latency" {
	run_case disable-refused
}

@test "a maximum that one CPU refuses is named, and the others are put back" {
	run_case maximum-refused
}

@test "boost that one policy refuses is named" {
	run_case boost-of-one-policy-refused
}

@test "a deeper state whose latency is made up is off, by its number" {
	run_case made-up-latencies
}

@test "a driver that does not tell the speed leaves the cap unknown" {
	run_case speed-unknown
}

@test "a maximum that is reset a moment later is set again" {
	run_case maximum-resets-later
}

# Where the kernel counts the time in each frequency, a cap is known to hold once it has settled.
has_settled() {
	[ "$(column frequency effective)" = yes ]
}

is_found_out() {
	[[ "$(column frequency reason)" == "it reads back 2000 MHz, which another program has set" ]]
}

@test "a knob that another program has set meanwhile is put back, and named" {
	mkdir "$cpus/cpu0/cpufreq/stats"
	echo "1600000 5" >"$cpus/cpu0/cpufreq/stats/time_in_state"
	rm "$cpus/cpu1/cpufreq/scaling_cur_freq"
	start
	within 10 has_settled
	echo 2000000 >"$cpus/cpu0/cpufreq/scaling_max_freq"
	within 10 is_found_out
	end TERM
	assert_untouched
	cat "$dir/log"
	grep "another program has set .*cpu0/cpufreq/scaling_max_freq. to .2000000. since it was given .1600000." "$dir/log"
}

boots_have() {
	[ "$(curl -s --unix-socket "$dir/s" http://localhost/v1/capabilities | jq .boot_timeout_s)" = "$1" ]
}

@test "boots have as much longer as the configuration's patience says, or what they are given" {
	start
	boots_have 180
	end TERM
	echo 'patience: 2.5' >>"$dir/config.yaml"
	start
	boots_have 450
	end TERM
	VIRTBED_BOOT_TIMEOUT=60 start
	boots_have 60
}

@test "idle states whose names have the processor's model are found by their names" {
	run_case names-with-models
}

@test "policies without a link from their CPUs are capped" {
	run_case policies-alone
}

@test "without a driver of idle states the cap of them is not effective, and the other is" {
	run_case no-idle-driver
}

@test "of a table in no order the highest state below the cap is set" {
	run_case table-unsorted
}

@test "a limit of the firmware below the cap is within it" {
	run_case firmware-limit
}

@test "CPUs whose numbers have holes are all capped" {
	run_case numbers-with-holes
}
