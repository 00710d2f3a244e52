#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The MPI kernels on this machine, under MPICH's own launcher.

setup_file() {
	build=${VIRTBED_BUILD:-$BATS_TEST_DIRNAME/../../build}
	export NPB=$build/benchmarks/npb
	[ -x "$NPB/is_cg" ] || { echo "no kernels in '$NPB': build first" >&2; return 1; }
}

# npb RANKS PROGRAM ARGUMENT...  More ranks than two wait without spinning, or they would spend
# their time on one another's processor.
npb() {
	local ranks=$1 program=$2
	shift 2
	if [ "$ranks" -gt 2 ]; then
		local -x VIRTBED_BLOCK_MS=2 UCX_TLS=tcp,self
	fi
	run timeout 1000 mpiexec.hydra -n "$ranks" "$NPB/$program" "$@"
}

count() {
	grep -cE "$1" <<<"$output" || true
}

# memory_for KERNEL GIB: whether so much is free; tells of it if not.
memory_for() {
	local free_gib
	free_gib=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
	[ "$free_gib" -ge "$2" ] || { echo "# $1 class C needs $2 GiB, $free_gib are free" >&3; return 1; }
}

verified() {
	[ "$status" -eq 0 ] && [ "$(count '^ Verification +=\s+SUCCESSFUL$')" -eq "$1" ]
}

# every_kernel CLASS RANKS...
every_kernel() {
	local class=$1 ranks kernel
	shift
	for ranks in "$@"; do
		for kernel in is cg mg ep; do
			npb "$ranks" $kernel --class "$class"
			verified 1 || { echo "$kernel, class $class, $ranks ranks: $output"; return 1; }
		done
	done
}

@test "every kernel verifies in class S on 1, 2 and 4 ranks" {
	every_kernel S 1 2 4
}

@test "every kernel verifies in class W on 1 and 2 ranks" {
	every_kernel W 1 2
}

@test "class W verifies on 4 ranks" {
	every_kernel W 4
}

@test "every kernel verifies in class A on 2 ranks" {
	every_kernel A 2
}

@test "class A verifies on 1 and 4 ranks, class B on 2, class C where there is memory for it" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	every_kernel A 1 4
	npb 2 is_cg --class A
	verified 2
	every_kernel B 2
	for need in is:3 cg:2 mg:5; do
		memory_for "${need%:*}" "${need#*:}" || continue
		npb 2 "${need%:*}" --class C
		verified 1
	done
	npb 2 ep --class C
	verified 1
}

@test "the composite reports both kernels and the time of both" {
	npb 2 is_cg --class S
	verified 2
	[ "$(count '^ IS Benchmark Completed$')" -eq 1 ]
	[ "$(count '^ CG Benchmark Completed$')" -eq 1 ]
	[ "$(count '^ Time in seconds, all kernels \(full\) = [0-9]+\.[0-9]{9}$')" -eq 1 ]
}

@test "the report has the lines of the reference and one more" {
	npb 2 is --class S
	verified 1
	for line in 'Class           =\s+S' 'Size            =\s+65536' 'Iterations      =\s+10' \
		'Time in seconds =\s+[0-9]+\.[0-9]{2}' 'Total processes =\s+2' \
		'Active procs    =\s+2' 'Mop/s total     =\s+[0-9]+\.[0-9]{2}' \
		'Mop/s/process   =\s+[0-9]+\.[0-9]{2}' 'Operation type  =\s+keys ranked' \
		'Version         =\s+\S.*' 'Compile date    =\s+\S.*' \
		'Time in seconds \(full\) =\s+[0-9]+\.[0-9]{9}'; do
		[ "$(count "^ $line\$")" -eq 1 ] || { echo "missing: $line"; false; }
	done
}

@test "CG shows the published zeta in each iteration" {
	npb 2 cg --class S
	verified 1
	for zeta in 9.9986441579 8.5733279203 8.5954510374; do
		[ "$(count " $zeta")" -eq 1 ]
	done
}

@test "repetitions are each verified and counted together" {
	npb 2 is_cg --class S --repetitions 3
	verified 2
	[ "$(count '^ IS repetition [123] of 3: [0-9.]+ s, verified$')" -eq 3 ]
	[ "$(count '^ CG repetition [123] of 3: [0-9.]+ s, verified$')" -eq 3 ]
	[ "$(count '^ Iterations      =\s+30$')" -eq 1 ]
	[ "$(count '^ Iterations      =\s+45$')" -eq 1 ]
}

@test "a number of ranks that is no power of two is refused with status 1" {
	npb 3 is --class S
	[ "$status" -eq 1 ]
	[ "$(count 'ERROR: 3 processes: .*power of two')" -eq 1 ]
	npb 3 cg --class S
	[ "$status" -eq 1 ]
}

@test "EP takes any number of ranks" {
	npb 3 ep --class S
	verified 1
	[ "$(count '^ Active procs    =\s+3$')" -eq 1 ]
}

@test "MG leaves ranks beyond a power of two idle, and says so" {
	npb 3 mg --class S
	verified 1
	[ "$(count 'WARNING: 2 of 3 processes take part')" -eq 1 ]
	[ "$(count '^ Total processes =\s+3$')" -eq 1 ]
	[ "$(count '^ Active procs    =\s+2$')" -eq 1 ]
}

@test "more ranks than a class has work for are refused with status 1" {
	npb 32 mg --class S
	[ "$status" -eq 1 ]
	[ "$(count 'ERROR: 32 processes: MG class S runs on at most 16')" -eq 1 ]
}

@test "MG verifies with as many ranks as class S has work for" {
	npb 16 mg --class S
	verified 1
}

@test "EP shows the published counts" {
	npb 2 ep --class S
	verified 1
	[ "$(count 'No. Gaussian Pairs = +13176389$')" -eq 1 ]
	[ "$(count '^ +3 +68546$')" -eq 1 ]
	[ "$(count '^ Size            = +33554432$')" -eq 1 ]
}

@test "MG reports the edges of its cube" {
	npb 2 mg --class S --repetitions 2
	verified 1
	[ "$(count '^ Size            = {12} 32x  32x  32$')" -eq 1 ]
	[ "$(count '^ MG repetition [12] of 2: [0-9.]+ s, verified$')" -eq 2 ]
	[ "$(count '^ Iterations      =\s+8$')" -eq 1 ]
}

@test "bad usage ends with status 2 and one line" {
	run "$NPB/is" --class X
	[ "$status" -eq 2 ]
	[ "$output" = "is: unknown class 'X': give one of S, W, A, B, C" ]
	run "$NPB/cg" --repetitions 0
	[ "$status" -eq 2 ]
	npb 2 is_cg --frob
	[ "$status" -eq 2 ]
	[ "$(count "is_cg: unknown option or missing value '--frob'")" -eq 1 ]
}

@test "--help works without a launcher" {
	run "$NPB/is_cg" --help
	[ "$status" -eq 0 ]
	[[ $output == usage:* ]]
}

@test "ranks that wait without spinning still verify" {
	VIRTBED_BLOCK_MS=2 UCX_TLS=tcp,self npb 2 is_cg --class S
	verified 2
}

@test "kernel-speed says why it leaves the emulator out" {
	run "$NPB/../kernels/kernel-speed" --class S --ranks 1 --rounds 1 --image "$BATS_TEST_TMPDIR"
	[ "$status" -eq 0 ]
	[[ $(jq -r .emulated.skipped <<<"$output") == "there is no '$BATS_TEST_TMPDIR/vmlinuz':"* ]]
	run "$NPB/../kernels/kernel-speed" --class S --ranks 1 --rounds 1 --qemu no-such-program
	[[ $(jq -r .emulated.skipped <<<"$output") == "there is no 'no-such-program':"* ]]
}
