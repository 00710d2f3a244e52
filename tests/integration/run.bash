# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed run` for tests: starts one in the background, waits for what it says, kills parts of it, and
# always ends it. Load it with `load run`; call run_end_all in teardown.

load jq
load within

run_build=${VIRTBED_BUILD:-$BATS_TEST_DIRNAME/../../build}
virtbed=$run_build/controller/cli/virtbed

# Puts a local scheduler without VMs in the place of the real one.
run_use_scripted() {
	local dir=$BATS_TEST_TMPDIR/libexec
	[ -x "$run_build/tests/unit/backend/scripted-local-sched" ] || skip "tests are not built"
	mkdir -p "$dir"
	ln -sf "$run_build/tests/unit/backend/scripted-local-sched" "$dir/virtbed-local-sched"
	ln -sf "$run_build/controller/plugin/host/virtbed-policy-host" "$run_build/controller/plugin/so/virtbed-policy-so" "$dir"
	ln -sf "$run_build/controller/plugin/batsim/virtbed-policy-batsim" "$dir"
	ln -sf "$run_build/controller/api/virtbed-controller" "$dir/virtbed-controller"
	export VIRTBED_LIBEXEC=$dir
	# It has no VMs, and reads no image; that there is one is asked first of all.
	echo '{}' >"$dir/manifest.json"
	export VIRTBED_IMAGE=$dir
}

# For setup: a directory of the test's own with $config and $estimates, and $out for the run.
run_set_up_scripted() {
	run_use_scripted
	cd "$BATS_TEST_TMPDIR" || return 1
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	out=$BATS_TEST_TMPDIR/out
	run_write_config "$config"
	run_write_estimates "$estimates"
}

# For teardown.
run_tear_down_scripted() {
	run_end_all "$run_name"
	rm -rf "/run/virtbed/lab/$run_name"
}

# Two clusters of four and two nodes, two types, short runs; the run's name, which is locked on this
# machine while it lasts, is no other test's. run_write_config FILE
run_write_config() {
	run_name=scripted-$BASHPID
	cat >"$1" <<END
name: $run_name
clusters:
  - name: c1
    nodes: 4
    cores: 1
    memory_mib: 128
    hosts:
      - name: h1
        uri: test:///default
        meter: {kind: ipmi, address: 127.0.0.1, password_file: /dev/null, interval_s: 0.5}
  - name: c2
    nodes: 2
    cores: 2
    memory_mib: 128
    hosts:
      - name: h2
        uri: test:///default
        meter: {kind: ipmi, address: 127.0.0.1, password_file: /dev/null, interval_s: 0.5}
types:
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 5, memory_mib: 96, share: 0.6}
  - {name: CG.S.2, benchmark: cg, class: S, cores: 2, repetitions: 10, memory_mib: 96, share: 0.4}
workload: {arrival_mean_s: 1, duration_s: 8, seed: 1, utility_max: [1, 2, 3, 4]}
experiment:
  policies: [easy, max-upr]
  limits: [1, 0.6]
  budget_j: 420
  mapping_interval_s: 1
  duration_s: 12
  baseline_s: 1
  profile_repeats: 2
  task_deadline_s: 60
END
}

# What the scripted local scheduler's tasks take: ranks x repetitions x 0.2 s, at 20 W. run_write_estimates FILE
run_write_estimates() {
	cat >"$1" <<'END'
estimates:
  - {type: IS.S.2, cluster: c1, etc_s: 2, eec_j: 40}
  - {type: IS.S.2, cluster: c2, etc_s: 2, eec_j: 40}
  - {type: CG.S.2, cluster: c1, etc_s: 4, eec_j: 80}
  - {type: CG.S.2, cluster: c2, etc_s: 4, eec_j: 80}
END
}

# For setup() of a file whose runs have labs of their own: with the guest image, in the test's directory. What
# such runs take, and their limits, are those of the emulator, also where KVM works.
run_use_lab() {
	lab_require
	lab_require_image
	cd "$BATS_TEST_TMPDIR" || return 1
	unset VIRTBED_LIBEXEC
	export VIRTBED_IMAGE=$lab_image
	export VIRTBED_VIRT_TYPE=qemu
}

# For teardown(): ends what was started on lab NAME. A run takes its lab down itself; this is for a lab that a
# failed test left behind.
run_end_lab() {
	run_end_all "$1"
	"$virtbed_lab" down --name "$1" || true
}

# Starts `virtbed ARGUMENT...` in the background, its words in $run_words and $run_results.
run_start() {
	run_words=$BATS_TEST_TMPDIR/words
	run_results=$BATS_TEST_TMPDIR/results
	: >"$run_words" # what the one before said is not to be waited for
	"$virtbed" "$@" >"$run_results" 2>"$run_words" 3>&- &
	run_pid=$!
	echo "$run_pid" >>"$BATS_TEST_TMPDIR/pids"
}

# Waits until PATTERN (grep -E) was said COUNT times (1), at most SECONDS (60). run_wait_for PATTERN [SECONDS [COUNT]]
run_wait_for() {
	within "${2:-60}" run_has_said_or_ended "$1" "${3:-1}" || true
	[ "$(grep -cE "$1" "$run_words")" -ge "${3:-1}" ] || { echo "'$1' was not said:"; cat "$run_words"; return 1; }
}

run_has_said_or_ended() {
	[ "$(grep -cE "$1" "$run_words")" -ge "$2" ] || ! kill -0 "$run_pid" 2>/dev/null
}

# Waits until `virtbed` has ended and sets run_status.
run_wait() {
	run_status=0
	wait "$run_pid" || run_status=$?
	cat "$run_words"
}

# The process that runs PROGRAM for run directory DIR. run_process PROGRAM DIR
run_process() {
	pgrep -f "^[^ ]*$1 .*$2( |/|\$)" | head -n 1
}

# Waits until the store of DIR answers the query with something else than nothing. run_wait_row DIR QUERY [SECONDS]
run_wait_row() {
	within "${3:-60}" run_has_row "$1" "$2" || { cat "$run_words"; return 1; }
}

run_has_row() {
	[ -n "$(run_query "$1" "$2" 2>/dev/null)" ]
}

run_query() {
	sqlite3 -readonly -cmd '.timeout 60000' "$1/run.sqlite" "$2"
}

# No task of DIR was counted twice, and each run's counts are those of its tasks.
run_assert_counts() {
	[ -z "$(run_query "$1" "SELECT run FROM run WHERE ended_by <> 'aborted' AND tasks_completed <>
		(SELECT count(*) FROM task WHERE task.run = run.run AND state = 'completed')")" ]
	[ -z "$(run_query "$1" "SELECT run FROM run WHERE ended_by <> 'aborted' AND abs(utility -
		(SELECT total(utility) FROM task WHERE task.run = run.run)) > 1e-6")" ]
	[ -z "$(run_query "$1" "SELECT policy, limit_fraction, repeat FROM run WHERE ended_by <> 'aborted'
		GROUP BY 1, 2, 3 HAVING count(*) > 1")" ]
}

# `virtbed decide` on the snapshots that DIR stored, 40 of them, gives the actions that it stored.
run_assert_decisions() {
	local id count=0
	for id in $(run_query "$1" "SELECT id FROM decision
		WHERE id % (1 + (SELECT count(*) FROM decision) / 40) = 0"); do
		run_query "$1" "SELECT snapshot FROM decision WHERE id = $id" |
			"$virtbed" decide --json - | jq -cS . >"$BATS_TEST_TMPDIR/actions-decided"
		run_query "$1" "SELECT actions FROM decision WHERE id = $id" | jq -cS . >"$BATS_TEST_TMPDIR/actions-stored"
		diff "$BATS_TEST_TMPDIR/actions-stored" "$BATS_TEST_TMPDIR/actions-decided" || return 1
		count=$((count + 1))
	done
	[ $count -ge 5 ]
}

# Every run that the test left in its directory is carried out again as it is stored (`virtbed rerun`): what has
# no inputs is of a trial that is not recorded. Call it where runs have ended; run_end_all does. A test that
# changes a store by itself calls run_altered DIR.
run_assert_reruns() {
	local store words=$BATS_TEST_TMPDIR/rerun-words
	while read -r store; do
		[ ! -e "$(dirname "$store")/altered" ] || continue
		"$virtbed" rerun "$(dirname "$store")" >"$words" 2>&1 && continue
		[ $? -eq 2 ] && ! grep -vE 'all as stored|store has none of its inputs|no such run in it' "$words" && continue
		echo "$store is not carried out again as it is stored:"
		cat "$words"
		return 1
	done < <(find "$BATS_TEST_TMPDIR" -name run.sqlite -size +0)
}

run_altered() {
	touch "$1/altered"
}

# No process works for DIR any more.
run_assert_nobody() {
	! pgrep -af "virtbed-(controller|local-sched|lab) .*$1"
}

# Everything at once, as a loss of power does it.
run_kill_all() {
	kill -KILL "$(run_process virtbed-controller "$out")" "$run_pid"
	wait "$run_pid" || true
	within 30 run_assert_nobody "$out"
}

# Ends what this test started, and removes the lock file that killed runs of NAME leave. run_end_all NAME
run_end_all() {
	local pid
	touch "$BATS_TEST_TMPDIR/pids"
	while read -r pid; do
		kill -TERM "$pid" 2>/dev/null || continue
		within_ended 120 "$pid" || kill -KILL "$pid"
	done <"$BATS_TEST_TMPDIR/pids"
	rm -f "/run/virtbed/locks/run-$1.lock"
	[ -z "${BATS_TEST_COMPLETED:-}" ] || run_assert_reruns
}
