#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed run` on a real lab: VMs, MPI tasks, meters; and what happens when a part of it is killed.

load lab
load run

setup() {
	run_use_lab
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	out=$BATS_TEST_TMPDIR/out
	write_config
	write_estimates
}

teardown() {
	run_end_lab "$name"
}

# Two blades, one of them with Redfish, three VMs, short tasks. Each test has a lab of its own.
write_config() {
	name=$(lab_name run)
	cat >"$config" <<END
name: $name
clusters:
  - {name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 530, base_mhz: 2660, hosts: [{blade: b1}]}
  - {name: c2, nodes: 1, cores: 2, memory_mib: 160, max_mhz: 530, base_mhz: 2660, hosts: [{blade: b2}]}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 2, memory_mib: 96, share: 0.6}
  - {name: CG.S.2, benchmark: cg, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 0.4}
workload: {arrival_mean_s: 3, duration_s: 24, seed: 1, utility_max: [1, 2, 3, 4]}
experiment:
  policies: [easy]
  limits: [1]
  budget_j: 20000
  mapping_interval_s: 2
  duration_s: 50
  baseline_s: 4
  profile_repeats: 2
  task_deadline_s: 60
lab:
  blades:
    - {name: b1, cpu_cores: 0.6, idle_w: 60, core_w: 100, bmc: redfish}
    - {name: b2, cpu_cores: 0.6, idle_w: 60, core_w: 300}
END
}

write_estimates() {
	cat >"$estimates" <<'END'
estimates:
  - {type: IS.S.2, cluster: c1, etc_s: 4, eec_j: 100}
  - {type: IS.S.2, cluster: c2, etc_s: 4, eec_j: 250}
  - {type: CG.S.2, cluster: c1, etc_s: 7, eec_j: 200}
  - {type: CG.S.2, cluster: c2, etc_s: 7, eec_j: 500}
END
}

start_run() {
	run_start run "$config" --estimates "$estimates" --out "$out" --json "$@"
}

# Ended well, counted once, and left nothing behind.
assert_good_end() {
	run_wait
	tail -n 20 "$out"/logs/*.log
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	assert_nothing_left
}

assert_nothing_left() {
	local remains
	run_assert_nobody "$out"
	remains=$(lab_remains "$name")
	[ -z "$remains" ] || { echo "$remains"; return 1; }
}

completed() {
	run_query "$out" "SELECT count(*) FROM task WHERE state = 'completed'"
}

# The qemu process of the VM of node N of CLUSTER. vm_process CLUSTER N
vm_process() {
	pgrep -f "guest=virtbed-$name-$1-n$2," | head -n 1
}

@test "profile, then runs: measured, limited and accounted for" {
	# About what a run without a limit uses: 0.3 of it binds.
	sed -i 's/budget_j: .*/budget_j: 2500/' "$config"
	run_start run "$config" --profile --policy max-upr --limit 1,0.3 --out "$out" --json
	assert_good_end
	[ "$(jq '.runs | length' "$run_results")" -eq 2 ]
	[ "$(jq -r '.runs[] | select(.limit == 0.3).ended_by' "$run_results")" = limit ]
	jq -e '.runs | all(.idle_w > 119 and .gap_s < 2)' "$run_results"
	jq -e '.runs | all(.tasks_completed > 0)' "$run_results"
	[ "$(grep -c 'type:' "$out/estimates.yaml")" -eq 4 ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'virt_type'")" != unknown ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'modelled_watts'")" = true ]
	run "$virtbed" report "$out" --format json
	jq -e '[.. | .energy_difference_uj? // empty] | length > 0 and all(fabs <= 1)' <<<"$output"
	jq -e '[.. | .energy_mismatches? // empty] | length > 0 and all(. == 0)' <<<"$output"
	run_assert_decisions "$out"
}

# The time of run 1, in seconds since it began.
run_now_s() {
	awk -v t0="$(run_query "$out" "SELECT t0_ns FROM run WHERE run = 1")" '{ printf "%.3f", $1 - t0 / 1e9 }' /proc/uptime
}

# What ipmitool reads of b2 by hand is what its samples around that time say.
assert_by_hand() {
	local watts from_s to_s
	from_s=$(run_now_s)
	watts=$(lab_watts "$name" b2)
	to_s=$(run_now_s)
	# The samples around that time have come when one after them has.
	run_wait_row "$out" "SELECT 1 FROM sample WHERE host = 'b2' AND time_s > $to_s + 1.5 LIMIT 1"
	# b2 draws from 60 to 60 + 0.6 x 300 W; one sampling interval may lie between any two of them.
	run_query "$out" "SELECT time_s, mw FROM sample WHERE host = 'b2'
		AND time_s BETWEEN $from_s - 1.5 AND $to_s + 1.5" >"$BATS_TEST_TMPDIR/around"
	cat "$BATS_TEST_TMPDIR/around"
	echo "by hand: $watts W"
	awk -F'|' -v w="$watts" '{ if (!n++ || $2 < low) low = $2; if ($2 > high) high = $2 }
		END { exit !(n && w * 1000 >= low - 20000 && w * 1000 <= high + 20000) }' "$BATS_TEST_TMPDIR/around"
}

@test "a killed controller: the run continues, no task runs twice" {
	start_run
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running'" 240
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait_for "controller died .signal 9"
	run_wait_for "run 1 continues"
	assert_good_end
	[ "$(run_query "$out" "SELECT count(*) FROM run")" -eq 1 ]
	[ "$(run_query "$out" "SELECT max(attempts) FROM task")" -eq 1 ]
	[ "$(completed)" -ge 3 ]
}

@test "a killed local scheduler: its tasks are lost and tried again" {
	start_run
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running' AND cluster = 'c1'" 240
	kill -9 "$(run_process virtbed-local-sched "$out/state/c1")"
	run_wait_for "cluster 'c1' died .signal 9"
	assert_good_end
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'scheduler-died'")" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'lost'")" ]
	[ "$(completed)" -ge 3 ]
}

@test "a killed VM and silent BMCs: its task is tried again, its node comes back, the gaps are counted" {
	start_run
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running' AND cluster = 'c2'" 240
	kill -9 "$(vm_process c2 0)"
	# One BMC hangs, the other is gone.
	kill -STOP "$(lab_get "$name" '.blades[0].bmc_pid')"
	kill -9 "$(lab_get "$name" '.blades[1].bmc_pid')"
	run_wait_row "$out" "SELECT 1 WHERE (SELECT count(*) FROM event WHERE kind = 'meter-lost') >= 2"
	assert_good_end
	jq -e '.runs | all(.gap_s > 0 and .energy_j > 0)' "$run_results"
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'lost'")" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'node-down'")" ]
	[ "$(completed)" -ge 3 ]
}

@test "ipmitool reads what a run's samples say; it is interrupted, leaves nothing, and is resumed" {
	start_run
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running'" 240
	assert_by_hand
	kill -INT "$run_pid"
	run_wait
	[ "$run_status" -eq 1 ]
	grep -q -- "--resume" "$run_words"
	assert_nothing_left
	run_start run "$config" --out "$out" --resume --json
	assert_good_end
	[ "$(jq '.runs | length' "$run_results")" -eq 1 ]
	[ "$(run_query "$out" "SELECT ended_by FROM run WHERE run = 1")" = aborted ]
}

# The lab's blade as a real one is written down: URI, bridge, and the BMC's kind, address, user and files.
real_host() {
	lab_get "$name" ".blades[] | select(.name == \"$1\") | {name, uri, bridge, meter: (.bmc + {interval_s: 1})} | tojson"
}

@test "docs/how-to/real-blades.md, followed against the lab as if its blades were real" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes two minutes: ./testbed check --long"
	lab_up "$config" "$name"
	local real=$BATS_TEST_TMPDIR/my-blades.yaml
	sed -e "s/^name: .*/name: my-$name/" -e '/^lab:/,$d' -e 's/duration_s: 24/duration_s: 10/' \
		-e 's/duration_s: 50/duration_s: 20/' \
		-e "s|{blade: b1}|$(real_host b1)|" -e "s|{blade: b2}|$(real_host b2)|" "$config" >"$real"
	"$virtbed" config check "$real"
	"$virtbed" config check --live "$real" >"$BATS_TEST_TMPDIR/table"
	cat "$BATS_TEST_TMPDIR/table"
	[ "$(grep -cE " +(host|meter|nodes|channels) +works " "$BATS_TEST_TMPDIR/table")" -eq 8 ]
	# Wrong password: the meter's row fails with a line to try by hand, everything else works.
	install -m 600 /dev/null "$BATS_TEST_TMPDIR/wrong"
	echo wrong >"$BATS_TEST_TMPDIR/wrong"
	sed "/\"b2\"/s|\"password_file\":\"[^\"]*\"|\"password_file\":\"$BATS_TEST_TMPDIR/wrong\"|" "$real" >"$real.wrong"
	run "$virtbed" config check --live "$real.wrong"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$(grep -c "FAILED" <<<"$output")" -eq 1 ]
	grep -qE "^c2 b2 meter: .*ipmitool -I lanplus" <<<"$output"
	run_start run "$real" --estimates "$estimates" --out "$out" --json
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ "$(run_query "$out" "SELECT value LIKE '%\"libvirt\":\"%' FROM meta WHERE key = 'capabilities'")" -eq 1 ]
	[ "$(run_query "$out" "SELECT count(*) FROM meta WHERE key IN ('libvirt', 'qemu') AND value LIKE '%.%.%'")" -eq 2 ]
	"$virtbed" report "$out" --format html
	grep -q "QEMU " "$out/index.html"
}

@test "the remote backend keeps the promises of the seam on real VMs" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	lab_up "$config" "$name"
	local cluster pids=() list=
	for cluster in c1 c2; do
		"$run_build/local-sched/virtbed-local-sched" --config "$config" --cluster "$cluster" \
			--state "$BATS_TEST_TMPDIR/$cluster" --listen "unix:$BATS_TEST_TMPDIR/$cluster.sock" \
			2>"$BATS_TEST_TMPDIR/$cluster.log" 3>&- &
		pids+=($!)
		list+="${list:+,}unix:$BATS_TEST_TMPDIR/$cluster.sock"
	done
	VIRTBED_TEST_CONFIG=$config VIRTBED_TEST_SCHEDULERS=$list run timeout $((1200 * within_patience)) \
		"$run_build/tests/unit/backend/test-backend-conformance" -p /remote
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^ok .* /remote/' <<<"$output")" -eq 16 ]
	! grep -q SKIP <<<"$output"
}

# All processes of the run at once, as a loss of power ends them: `virtbed`, its children, the lab with its libvirtds,
# BMCs and VMs. A blade's processes end with the blade's own first one.
kill_everything() {
	local pids
	pids=$(pgrep -f -- "--out $out( |\$)|(virtbed-(controller|local-sched|lab)) .*($out|$name)")
	kill -KILL $pids
	for pid in $pids; do
		within_ended 60 "$pid"
	done
	run_assert_nobody "$out"
}

# What the profile has measured, a line each, and the pairs that have as many measurements as they should: 2.
assert_profile_whole() {
	[ "$(run_query "$out" "SELECT count(*) FROM (SELECT type, cluster, round FROM measurement
		WHERE round IS NOT NULL GROUP BY 1, 2, 3 HAVING count(*) <> 1)")" -eq 0 ]
	[ "$(run_query "$out" "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM measurement
		WHERE round IS NOT NULL GROUP BY type, cluster)")" = 2,2,2,2 ]
}

@test "everything killed in the profile and in a run: nothing is measured twice or missing, and nothing is left" {
	local before
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes three minutes: ./testbed check --long"
	sed -i 's/policies: .*/policies: [easy, max-upr]/' "$config"
	run_start run "$config" --profile --out "$out" --json
	run_wait_row "$out" "SELECT 1 FROM measurement WHERE round IS NOT NULL LIMIT 1 OFFSET 2" 240
	kill_everything
	before=$(run_query "$out" "SELECT n, type, cluster, round, exec_s FROM measurement ORDER BY n")

	run_start run "$config" --profile --out "$out" --json --resume
	run_wait_row "$out" "SELECT 1 FROM task WHERE run = (SELECT max(run) FROM run WHERE policy = 'max-upr')
		AND state = 'completed' LIMIT 1" 400
	kill_everything
	assert_profile_whole
	[[ "$(run_query "$out" "SELECT n, type, cluster, round, exec_s FROM measurement ORDER BY n")" == "$before"* ]]
	cp "$out/estimates.yaml" estimates-before.yaml

	run_start run "$config" --profile --out "$out" --json --resume
	assert_good_end
	cmp estimates-before.yaml "$out/estimates.yaml"
	# The first run ended before and stayed; the interrupted one is there as aborted, and whole.
	[ "$(run_query "$out" "SELECT group_concat(policy || ':' || (ended_by = 'aborted'))
		FROM (SELECT policy, ended_by FROM run ORDER BY run)")" = "easy:0,max-upr:1,max-upr:0" ]
	for again in 1 2; do
		"$virtbed" simulate "$out/config.yaml" --estimates "$out/estimates.yaml" --trials 20 --json >"simulated-$again"
	done
	cmp simulated-1 simulated-2
}
