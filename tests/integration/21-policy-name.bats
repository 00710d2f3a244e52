#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A service is known by the policy that decides, whichever of its names the configuration has. On a simulated cluster.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	cd "$BATS_TEST_TMPDIR" || return 1
	unset VIRTBED_LIBEXEC VIRTBED_TOKEN_FILE
	export VIRTBED_URI=unix:$socket
	run_name=policy-$BASHPID
}

teardown() {
	run_end_all "$run_name"
}

write_config() {
	cat >"$config" <<END
name: $run_name
clusters:
  - {name: s1, nodes: 2, cores: 1, memory_mib: 128, simulated: {idle_w: 60, seed: 1}}
types:
  - {name: SHORT, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}
estimates:
  - {type: SHORT, cluster: s1, etc_s: 2, eec_j: 100}
workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 120, baseline_s: 1}
service: {policy: $1}
END
}

serve() {
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket with policy $1\$" 120
}

on_record() {
	[ "$(run_query "$state" "SELECT policy FROM run")" = "$1" ]
}

@test "a service by another name of its policy has the policy's name on record" {
	write_config max-util-preempt-pair+no-wait
	serve max-util-preempt-pair
	on_record max-util-preempt-pair
	"$virtbed" submit SHORT --wait
	write_config max-util-preempt-pair+algorithm-3
	kill -HUP "$run_pid"
	run_wait_for "policy max-util-preempt-pair[+]algorithm-3, mapping" 60
	within 60 on_record max-util-preempt-pair+algorithm-3
	write_config max-upt-preempt-pair+no-wait
	kill -HUP "$run_pid"
	run_wait_for "policy max-upt-preempt-pair, mapping" 60
	within 60 on_record max-upt-preempt-pair
}
