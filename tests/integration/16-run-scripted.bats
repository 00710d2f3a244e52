#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed run`'s processes: controller and supervisor, with local schedulers that have no VMs, so that
# these run everywhere. 60-run.bats does the same with real ones.

load run

setup() {
	run_set_up_scripted
}

teardown() {
	run_tear_down_scripted
}

@test "profile and runs in one go" {
	run_start run "$config" --profile --out "$out" --json
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(jq '.runs | length' "$run_results")" -eq 4 ]
	jq -e '[.runs[] | select(.limit == 0.6) | .ended_by] | all(. == "limit")' "$run_results"
	jq -e '.runs | all(.energy_j <= .limit_j + 1e-3 and .idle_w > 119 and .idle_w < 121)' "$run_results"
	run_assert_counts "$out"
	run_assert_decisions "$out"
	grep -q "count: [2-9]" "$out/estimates.yaml"
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'kind'")" = measured ]
	[ "daemons: $(run_query "$out" "SELECT value FROM meta WHERE key = 'daemons'")" = "$(grep ^daemons: "$run_words")" ]
	run_assert_nobody "$out"
	[ ! -e "$out/controller.sock" ]
}

@test "a run has the tasks of a file, as its simulation has, and is not resumed with others" {
	local tasks="SELECT task, type, arrival_s, utility_max FROM task WHERE run = 1 ORDER BY task"
	sed -i 's/^workload: .*/workload: {arrivals: tasks.csv}/' "$config"
	printf '%s\n' 1.25,IS.S.2,4 0.5,CG.S.2,2 2,IS.S.2,1 >"$BATS_TEST_TMPDIR/tasks.csv"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'completed'")" -eq 3 ]
	"$virtbed" simulate "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out-sim"
	[ "$(run_query "$out" "$tasks")" = "$(run_query "$out-sim" "$tasks")" ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'tasks_sha256'")" = \
		"$(run_query "$out-sim" "SELECT value FROM meta WHERE key = 'tasks_sha256'")" ]
	echo 3,IS.S.2,1 >>"$BATS_TEST_TMPDIR/tasks.csv"
	run "$virtbed" run "$config" --out "$out" --resume --repeat 2
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"have other tasks than workload.arrivals"* ]]
}

# A lab to fit, whose blades no cluster uses: what is fitted then are the tasks. add_lab_to_fit FILE
add_lab_to_fit() {
	printf 'lab: {fit: yes, blades: [{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]}\n' >>"$1"
}

@test "tasks are fitted to the probe that is given, and stay so when the run is resumed" {
	add_lab_to_fit "$config"
	echo '{"cores": 2, "speed": 0.3}' >"$BATS_TEST_TMPDIR/probe.json"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out" \
		--probe "$BATS_TEST_TMPDIR/probe.json"
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "^machine: 2.00 cores for the lab, speed 0.30" "$run_words"
	grep -q "repetitions, so that tasks take as long as elsewhere: IS.S.2 2 instead of 5, CG.S.2 3 instead of 10" "$run_words"
	[ "$(grep -c 'repetitions: 2$' "$out/config.yaml")" -eq 1 ]
	[ "$(grep -c 'repetitions: 3$' "$out/config.yaml")" -eq 1 ]
	grep -q '^patience: 3.3' "$out/config.yaml"
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'probe'" | jq -c .)" = '{"cores":2,"speed":0.3}' ]
	[[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'fitted'")" == *"IS.S.2 2 instead of 5"* ]]
	run "$virtbed" report "$out"
	[[ "$output" == *"fitted to this machine"*"2.00 cores for the lab, speed 0.30"* ]]
	run "$virtbed" run "$config" --out "$out" --resume --probe "$BATS_TEST_TMPDIR/probe.json"
	[ "$status" -eq 2 ]
	[[ "$output" == *"leave --probe out"* ]]
	run_start run "$config" --policy max-upr --limit 1 --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(grep -c 'repetitions: 2$' "$out/config.yaml")" -eq 1 ]
	# Estimates hold for the fit that they were measured with.
	cp "$estimates" "$out/estimates.yaml"
	run_start run "$config" --estimates "$out/estimates.yaml" --policy easy --limit 1 --out "$out-2"
	run_wait
	[ "$run_status" -eq 0 ]
	cmp "$out/probe.json" "$out-2/probe.json"
}

@test "a run measures as often, and has as many tasks, as its fitted configuration says" {
	sed -i 's/repetitions: 5/repetitions: 1/; s/repetitions: 10/repetitions: 1/; s/profile_repeats: .*/profile_repeats: 12/
		s/^workload: .*/workload: {load: 1.2, tasks: 60, seed: 1, utility_max: [1, 2, 3, 4]}/
		s/mapping_interval_s: .*/mapping_interval: 0.2/; s/ duration_s: .*/ duration: 1.2/' "$config"
	add_lab_to_fit "$config"
	echo '{"cores": 2, "speed": 0.25}' >"$BATS_TEST_TMPDIR/probe.json"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out" \
		--probe "$BATS_TEST_TMPDIR/probe.json"
	run_wait_for "4.0 times as long here as elsewhere: 5 measurements of each type on each cluster instead of 12, and 45 tasks in a run"
	within 60 jq -e ".profile_repeats == 5" "$out/plan.json"
	kill -TERM "$run_pid"
	run_wait
}

# A blade of 600 cores that the first cluster is on. use_huge_blade FILE
use_huge_blade() {
	sed -i '/- name: h1/,/meter:/c\      - blade: b1' "$1"
	printf 'lab: {blades: [{name: b1, cpu_cores: 600, idle_w: 1, core_w: 1}]}\n' >>"$1"
	sed -i '/name: c1/,/nodes:/s/nodes: 4/nodes: 20/; /nodes: 20/,/cores:/s/cores: 1/cores: 30/' "$1"
}

@test "a lab that is too large for this machine can be simulated, and is refused where it is to run" {
	local too_large="lab.blades: all VMs, emulator threads included, may use 600.00 cores, more than 80 % of the "
	use_huge_blade "$config"
	"$virtbed" config dump "$config" >/dev/null
	"$virtbed" simulate "$config" --estimates "$estimates" --out "$out"
	"$virtbed" report "$out" >/dev/null
	run "$virtbed" config check "$config"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"for run: no: $too_large"*"for profile: no: $too_large"*"for serve: no: $too_large"* ]]
	for command in run profile serve; do
		run "$virtbed" $command "$config" $([ "$command" = profile ] || echo --estimates "$estimates")
		echo "$output"
		[ "$status" -eq 2 ]
		[[ "$output" == *"$config: $too_large"* ]]
	done
	run "$run_build/local-sched/lab/virtbed-lab" up "$config"
	[ "$status" -eq 2 ]
	[[ "$output" == *"$config: $too_large"* ]]
}

@test "a run that was fitted to more CPUs than there are now is not resumed on what is left" {
	add_lab_to_fit "$config"
	echo '{"cores": 2, "speed": 1}' >"$BATS_TEST_TMPDIR/probe.json"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out" \
		--probe "$BATS_TEST_TMPDIR/probe.json"
	run_wait
	[ "$run_status" -eq 0 ]
	# As a run is that began where there were 4000 CPUs.
	run_write_config "$config"
	use_huge_blade "$config"
	sed -i 's/^lab: {/lab: {fit: yes, /' "$config"
	echo '{"cores": 4000, "speed": 1}' >"$out/probe.json"
	run "$virtbed" run "$config" --policy max-upr --limit 1 --out "$out" --resume
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"$out was fitted to more CPU time than this machine lets us use now: its VMs may use 600.00 cores, more than 80 % of the "*"give it the CPUs back, or start in another directory (--out)"* ]]
}

# The counters of a steady lab's metronome, as its supervisor writes them, until its directory goes. Once there is a file
# "slow", rounds take three times as long.
beat() {
	local dir=/run/virtbed/lab/$run_name rounds=0 cpu=0 each=25000
	mkdir -p "$dir"
	while [ -d "$dir" ]; do
		[ ! -e "$BATS_TEST_TMPDIR/slow" ] || each=75000
		rounds=$((rounds + 400))
		cpu=$((cpu + 400 * each))
		echo "$rounds $cpu" >"$dir/metronome.new"
		mv "$dir/metronome.new" "$dir/metronome"
		read -r -t 0.2 <> <(:) || true
	done 2>/dev/null
}

is_under_way_for() {
	[ "$(run_query "$out" "SELECT max(time_s) > $1 FROM sample WHERE run = 2")" = 1 ]
}

@test "a machine that becomes slower while a run is measured is named in the headings" {
	[ "$(id -u)" -eq 0 ] || skip "labs are root's"
	add_lab_to_fit "$config"
	echo '{"cores": 2, "speed": 1}' >"$BATS_TEST_TMPDIR/probe.json"
	beat 3>&- &
	local metronome=$!
	within 20 test -e "/run/virtbed/lab/$run_name/metronome"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out" \
		--probe "$BATS_TEST_TMPDIR/probe.json"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT detail FROM event WHERE kind = 'speed'" | jq '.speeds | length >= 3 and all(. == 1)')" = true ]
	[ "$(run_query "$out" "SELECT count(*) FROM meta WHERE key = 'speed_changes'")" -eq 0 ]
	run_start run "$config" --policy max-upr --limit 1 --out "$out" --resume
	within 60 is_under_way_for 3
	touch "$BATS_TEST_TMPDIR/slow"
	run_wait
	kill "$metronome"
	wait "$metronome" || true
	rm -r "/run/virtbed/lab/$run_name"
	[ "$run_status" -eq 0 ]
	# The window in which it happened lies between.
	grep -qE "run 2 \(max-upr at 100 %\): the machine became [2-6][0-9] % slower while it ran" "$run_words"
	run "$virtbed" report "$out"
	[[ "$output" == *"run 2 (max-upr at 100 %): the machine became "*" % slower while it ran"* ]]
}

@test "a probe that makes no sense, or is for nothing, is refused" {
	echo '{"cores": 2, "speed": 0.3}' >"$BATS_TEST_TMPDIR/probe.json"
	run "$virtbed" run "$config" --estimates "$estimates" --probe "$BATS_TEST_TMPDIR/probe.json"
	[ "$status" -eq 2 ]
	[[ "$output" == *"has no lab that is to be fitted"* ]]
	add_lab_to_fit "$config"
	echo '{"cores": 2, "pace": 1}' >"$BATS_TEST_TMPDIR/probe.json"
	run "$virtbed" profile "$config" --probe "$BATS_TEST_TMPDIR/probe.json"
	[ "$status" -eq 2 ]
	[[ "$output" == *"probe.json: 'pace' is not a key of a probe"* ]]
	run "$virtbed" run "$config" --estimates "$estimates" --probe "$BATS_TEST_TMPDIR/none.json"
	[ "$status" -eq 2 ]
	[[ "$output" == *"none.json"* ]]
	echo '{"cores": 0.01, "speed": 1}' >"$BATS_TEST_TMPDIR/probe.json"
	sed -i 's/{fit: yes/{fit: yes, steady: yes/; s/cpu_cores: 1/cpu_cores: 2/' "$config"
	run "$virtbed" run "$config" --estimates "$estimates" --probe "$BATS_TEST_TMPDIR/probe.json"
	[ "$status" -eq 2 ]
	[[ "$output" == *"lab.fit: a lab gets 0.01 cores of this machine, too few"* ]]
}

@test "energy in the store is the integral of its samples" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.6 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	run "$virtbed" report "$out" --format json
	[ "$status" -eq 0 ]
	jq -e '[.. | .energy_difference_uj? // empty] | length > 0 and all(fabs <= 1)' <<<"$output"
}

@test "without meters energies are not known, and that is said" {
	sed -i "/meter:/d" "$config"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out" --json
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "host 'h1' of cluster 'c1' has no meter: the energy of this run is not known" "$run_words"
	jq -e '.runs | length == 1 and all(.energy_j == null and .tasks_completed > 0)' "$run_results"
	[ "$(run_query "$out" "SELECT count(*) FROM event WHERE kind = 'unmetered'")" -eq 1 ]
	run "$virtbed" report "$out"
	[ "$status" -eq 0 ]
}

@test "profile alone writes estimates and prints them; types that never arrive fill no nodes" {
	sed -i 's/share: 0.6/share: 1/; s/share: 0.4/share: 0/' "$config"
	run_start profile "$config" --repeat 1 --target-s 1000 --on c2 --out "$BATS_TEST_TMPDIR/e.yaml" --json
	run_wait
	[ "$run_status" -eq 0 ]
	jq -e '.estimates | all((.cluster == "c2") == has("target_repetitions"))' "$run_results"
	jq -e '.estimates | map(select(.cluster == "c2")) | length > 0 and
		all(.target_repetitions * .etc_s / 1000 | . > 4.9 and . < 10.1)' "$run_results"
	[ "$(jq '.estimates | length' "$run_results")" -eq 4 ]
	jq -e '.estimates | all(.etc_s > 1.9 and .etc_s < 8 and .count >= 1)' "$run_results"
	jq -e '.estimates | map(select(.type == "CG.S.2")) | length == 2 and all(.count == 1)' "$run_results"
	run_start run "$config" --estimates "$BATS_TEST_TMPDIR/e.yaml" --policy easy --limit 0.3 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
}

# How tasks end on the scripted clusters, a line each: "CLUSTER TYPE END" (scripted-local-sched.c).
write_cells() {
	export VIRTBED_CELLS=$BATS_TEST_TMPDIR/cells
	printf '%s\n' "$@" >"$VIRTBED_CELLS"
}

# How many measurements of TYPE on CLUSTER are on record, without those of tasks that kept nodes busy. measurements_of TYPE CLUSTER
measurements_of() {
	run_query "$out" "SELECT count(*) FROM measurement WHERE type = '$1' AND cluster = '$2' AND round IS NOT NULL"
}

@test "a pair that reaches its deadline is an entry: tried once, named with the cure, and all else is measured and run" {
	sed -i 's/share: 0.6/share: 1/; s/share: 0.4/share: 0/; s/task_deadline_s: 60/task_deadline_s: 3/' "$config"
	write_cells "c2 CG.S.2 deadline"
	export VIRTBED_EXECUTED=$BATS_TEST_TMPDIR/executed
	run_start run "$config" --profile --policy easy --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(grep -c "type 'CG.S.2' on cluster 'c2': reached 75 of 100 steps in 3 s" "$run_words")" -eq 1 ]
	grep -q "experiment.task_deadline_s); about [45] s are needed: raise task_deadline_s" "$run_words"
	[ "$(grep -c "^ended .* failed" "$VIRTBED_EXECUTED")" -eq 1 ]
	grep -q "cluster: \"c2\"" "$out/estimates.yaml"
	jq -e '.unmeasured == [{type: "CG.S.2", cluster: "c2", reason: .unmeasured[0].reason}]' "$out/profile.json"
	[ "$(sed -n '/^unmeasured:/,$p' "$out/estimates.yaml" | grep -c "type:")" -eq 1 ]
	[ "$(measurements_of CG.S.2 c1)" -eq 2 ]
	run "$virtbed" report "$out"
	[ "$status" -eq 0 ]
	[[ "$output" == *"no estimate of 'CG.S.2' on 'c2', where none is placed: reached 75 of 100 steps"* ]]
	run "$virtbed" config check "$out/config.yaml"
	[ "$status" -eq 0 ]
	[[ "$output" == *"none of 'CG.S.2' on 'c2'"* ]]
}

@test "a pair of a type that arrives is left out: simulated and measured have the same matrix, and are compared" {
	write_cells "c2 CG.S.2 stalled"
	run_start run "$config" --profile --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(grep -c "type 'CG.S.2' on cluster 'c2': reached 10 of 100 steps in . s and then hung" "$run_words")" -eq 1 ]
	[ -z "$(run_query "$out" "SELECT 1 FROM task WHERE type = 'CG.S.2' AND cluster = 'c2'")" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM task WHERE type = 'CG.S.2' AND state = 'completed'")" ]
	run_assert_counts "$out"
	run_assert_decisions "$out"
	run "$virtbed" simulate "$config" --estimates "$out/estimates.yaml" --trials 3 --out "$out-sim"
	[ "$status" -eq 0 ]
	[[ "$output" == *"estimates: none of 'CG.S.2' on 'c2'"* ]]
	[ -z "$(run_query "$out-sim" "SELECT 1 FROM task WHERE type = 'CG.S.2' AND cluster = 'c2'")" ]
	run "$virtbed" simulate "$out/config.yaml" --trials 1
	[ "$status" -eq 0 ]
	run "$virtbed" compare "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "'CG.S.2' on 'c2'" <<<"$output")" -ge 2 ]
	[[ "$output" == *verdict* || "$output" == *Verdict* ]]
	run "$virtbed" report "$out" "$out-sim" --format html --out "$BATS_TEST_TMPDIR/page"
	[ "$status" -eq 0 ]
	grep -q "CG.S.2.* on .*c2" -r "$BATS_TEST_TMPDIR/page"
}

@test "all pairs but one fail: the run needs the others, and fails after all was stored" {
	write_cells "c1 IS.S.2 failed" "c2 IS.S.2 lost" "c2 CG.S.2 stalled"
	run_start run "$config" --profile --policy easy,max-upr --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 1 ]
	[ "$(grep -c "failed or was lost 3 times in a row" "$run_words")" -ge 2 ]
	tail -n 1 "$run_words" | grep -q "type 'IS.S.2' (share 0.6) has no estimate on any cluster (on 'c1': failed or was lost.*on 'c2': "
	tail -n 1 "$run_words" | grep -q "estimates.yaml and profile.json.*--resume"
	[ "$(grep -c "etc_s:" "$out/estimates.yaml")" -eq 1 ]
	jq -e '.unmeasured | length == 3' "$out/profile.json"
	[ "$(run_query "$out" "SELECT count(*) FROM run")" -eq 0 ]
	# Again: what was given up is tried once more, what was measured is not.
	local before
	before=$(run_query "$out" "SELECT * FROM measurement")
	run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 1 ]
	[ "$(grep -c "is tried once more, since the experiment cannot do without" "$run_words")" -eq 3 ]
	[ "$(run_query "$out" "SELECT * FROM measurement")" = "$before" ]
	jq -e '.unmeasured | length == 3' "$out/profile.json"
	# With a share of 0 for it the rest is enough.
	sed -i 's/share: 0.6/share: 0/; s/share: 0.4/share: 1/' "$config"
	run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT count(*) FROM run WHERE ended_by <> 'aborted'")" -eq 2 ]
	[ "$(run_query "$out" "SELECT count(*) FROM estimate")" -eq 1 ]
	"$virtbed" simulate "$config" --estimates "$out/estimates.yaml" --policy easy,max-upr --limit 1 --trials 2 --out "$out-sim"
	run "$virtbed" compare "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *erdict* ]]
}

@test "tasks that were lost together with their local scheduler are one loss of their pair" {
	sed -i 's/cores: 2, repetitions: 5/cores: 1, repetitions: 20/; s/share: 0.6/share: 1/; /name: CG.S.2/d' "$config"
	run_start profile "$config" --repeat 6 --dir "$out"
	run_wait_row "$out" "SELECT 1 FROM measurement WHERE cluster = 'c1'"
	kill -9 "$(run_process virtbed-local-sched "$out/state/c1")"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(measurements_of IS.S.2 c1) $(measurements_of IS.S.2 c2)" = "6 6" ]
	[ "$(run_query "$out" "SELECT count(*) FROM unmeasured")" -eq 0 ]
}

@test "all pairs fail: exit status 1, and an empty matrix on record" {
	write_cells "c1 IS.S.2 stalled" "c2 IS.S.2 stalled" "c1 CG.S.2 stalled" "c2 CG.S.2 stalled"
	run_start profile "$config" --dir "$out" --out "$BATS_TEST_TMPDIR/e.yaml"
	run_wait
	[ "$run_status" -eq 1 ]
	[ "$(grep -c "and then hung" "$run_words")" -ge 4 ]
	grep -q "^estimates: \[\]" "$out/estimates.yaml"
	diff "$out/estimates.yaml" "$BATS_TEST_TMPDIR/e.yaml"
	jq -e '.measurements == [] and (.unmeasured | length == 4)' "$out/profile.json"
	run "$virtbed" simulate "$config" --estimates "$out/estimates.yaml"
	[ "$status" -eq 2 ]
	[[ "$output" == *"type 'IS.S.2' (share 0.6) has no estimate on any cluster"* ]]
	run "$virtbed" run "$config" --estimates "$out/estimates.yaml" --out "$out-run"
	[ "$status" -eq 2 ]
	[[ "$output" == *"type 'IS.S.2' (share 0.6) has no estimate on any cluster"* ]]
}

@test "a pair that was lost, and the experiment needs, is tried once more when the profile is resumed" {
	sed -i 's/task_deadline_s: 60/task_deadline_s: 3/; s/profile_repeats: 2/profile_repeats: 6/' "$config" # a busy machine looks late
	write_cells "c1 IS.S.2 stalled" "c2 IS.S.2 lost" "c2 CG.S.2 deadline"
	run_start run "$config" --profile --policy easy --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 1 ]
	tail -n 1 "$run_words" | grep -q "type 'IS.S.2' (share 0.6) has no estimate on any cluster.*--resume tries what stalled or was lost"
	local before
	before=$(run_query "$out" "SELECT * FROM measurement ORDER BY n")
	write_cells "c1 IS.S.2 stalled" "c2 CG.S.2 deadline"
	# A profile that is killed meanwhile continues with it, and tries nothing a third time.
	run_start run "$config" --out "$out" --resume
	run_wait_row "$out" "SELECT 1 FROM measurement WHERE type = 'IS.S.2' AND cluster = 'c2'"
	[ ! -e "$out/estimates.yaml" ]
	run_kill_all
	run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT * FROM measurement ORDER BY n LIMIT $(wc -l <<<"$before")")" = "$before" ]
	[ "$(measurements_of IS.S.2 c2) $(measurements_of CG.S.2 c1)" = "6 6" ]
	[ "$(run_query "$out" "SELECT group_concat(type || ' ' || cluster) FROM unmeasured")" = "CG.S.2 c2,IS.S.2 c1" ]
	[ "$(run_query "$out" "SELECT count(*) FROM run WHERE ended_by <> 'aborted'")" -eq 1 ]
	# A run has ended without the rest: it stays given up, and the estimates stay what they are.
	sed -n '/^unmeasured:/,$p' "$out/estimates.yaml" >unmeasured
	run_start run "$config" --out "$out" --limit 0.6 --resume
	run_wait
	[ "$run_status" -eq 0 ]
	! grep -q "is tried once more" "$run_words"
	sed -n '/^unmeasured:/,$p' "$out/estimates.yaml" | cmp - unmeasured
}

@test "a profile alone is content where every type that arrives has one pair" {
	write_cells "c1 IS.S.2 stalled" "c2 CG.S.2 stalled"
	run_start profile "$config" --repeat 1 --dir "$out" --json
	run_wait
	[ "$run_status" -eq 0 ]
	jq -e '(.estimates | length == 2) and ([.unmeasured[] | .type + .cluster] | sort == ["CG.S.2c2", "IS.S.2c1"])' "$run_results"
}

@test "a deadline that is raised has the pairs that were given up tried again, and no others" {
	sed -i 's/task_deadline_s: 60/task_deadline_s: 3/' "$config"
	write_cells "c2 CG.S.2 deadline"
	run_start profile "$config" --repeat 1 --dir "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	local before
	before=$(run_query "$out" "SELECT * FROM measurement")
	: >"$VIRTBED_CELLS"
	run_start profile "$config" --dir "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT count(*) FROM unmeasured")" -eq 1 ]
	sed -i 's/task_deadline_s: 3/task_deadline_s: 60/' "$config"
	run_start profile "$config" --dir "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "type 'CG.S.2' on cluster 'c2' is tried again: experiment.task_deadline_s has changed" "$run_words"
	[ "$(run_query "$out" "SELECT count(*) FROM unmeasured")" -eq 0 ]
	[ "$(measurements_of CG.S.2 c2)" -eq 1 ]
	[ "$(run_query "$out" "SELECT * FROM measurement WHERE n <= (SELECT max(n) FROM measurement
		WHERE cluster <> 'c2' OR type <> 'CG.S.2') LIMIT $(wc -l <<<"$before")")" = "$before" ]
	! grep -q unmeasured: "$out/estimates.yaml"
}

@test "nodes that go down for good cost their pairs alone, after all else was measured" {
	export VIRTBED_BOOT_S=2
	write_cells
	run_start profile "$config" --dir "$out"
	run_wait_row "$out" "SELECT 1 FROM measurement WHERE cluster = 'c2'"
	printf 'c2 down 2\n' >"$VIRTBED_CELLS"
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "on cluster 'c2': too few nodes were up for" "$run_words"
	[ "$(run_query "$out" "SELECT DISTINCT cluster FROM unmeasured")" = c2 ]
	[ "$(measurements_of IS.S.2 c1) $(measurements_of CG.S.2 c1)" = "2 2" ]
	[ "$(grep -A 1 "type: \"IS.S.2\"" "$out/estimates.yaml" | grep -c "cluster: \"c1\"")" -eq 1 ]
}

@test "a profile that is killed continues with the rest: nothing is measured twice or missing" {
	sed -i 's/profile_repeats: 2/profile_repeats: 3/' "$config"
	run_start run "$config" --profile --policy easy --limit 0.3 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM measurement WHERE n = 3"
	run_kill_all
	local before
	before=$(run_query "$out" "SELECT * FROM measurement ORDER BY n")
	[ ! -e "$out/estimates.yaml" ]
	run_start run "$config" --out "$out" --resume
	# The controller alone, too: it is started again, and the profile continues.
	run_wait_row "$out" "SELECT 1 FROM measurement WHERE n = 2 + $(wc -l <<<"$before")"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "measurements are on record" "$run_words"
	[ "$(run_query "$out" "SELECT * FROM measurement ORDER BY n LIMIT $(wc -l <<<"$before")")" = "$before" ]
	[ "$(run_query "$out" "SELECT group_concat(count, ' ') FROM (SELECT count(*) AS count FROM measurement
		WHERE round IS NOT NULL GROUP BY type, cluster)")" = "3 3 3 3" ]
	[ "$(jq '.measurements | length' "$out/profile.json")" = "$(run_query "$out" "SELECT count(*) FROM measurement")" ]
	run_assert_counts "$out"
	# What is written is written from the record alone: again the same, to the byte.
	mkdir files
	mv "$out"/{estimates.yaml,profile.json,pet.yaml} files
	run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	for file in estimates.yaml profile.json pet.yaml; do cmp "files/$file" "$out/$file"; done
}

@test "what suspending takes is measured once, too, where the controller is killed meanwhile" {
	sed -i 's/^    cores: 1/    cores: 1\n    preemption: {keep: memory}/' "$config"
	run_start profile "$config" --repeat 2 --dir "$out"
	run_wait_row "$out" "SELECT 1 FROM overhead WHERE n = 1"
	local before
	before=$(run_query "$out" "SELECT * FROM overhead ORDER BY n")
	run_kill_all
	run_start profile "$config" --dir "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT * FROM overhead ORDER BY n LIMIT $(wc -l <<<"$before")")" = "$before" ]
	[ "$(run_query "$out" "SELECT count(*) FROM overhead")" -eq 12 ]
	[ "$(jq '.overheads | length' "$out/profile.json")" -eq 12 ]
}

@test "estimates with a hole for a type of share 0 are enough to simulate and to run" {
	sed -i 's/share: 0.6/share: 1/; s/share: 0.4/share: 0/' "$config"
	sed -i '/CG.S.2/d' "$estimates"
	run "$virtbed" simulate "$config" --estimates "$estimates" --trials 3 --out "$out-sim"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"estimates: none of 'CG.S.2' on 'c1'"* ]]
	run_start run "$config" --estimates "$estimates" --policy easy,max-upr --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_decisions "$out"
	run "$virtbed" compare "$out" "$out-sim"
	[ "$status" -eq 0 ]
	# A type that arrives needs its estimate all the same.
	sed -i 's/share: 1/share: 0.5/; s/share: 0$/share: 0.5/; s/share: 0}/share: 0.5}/' "$config"
	run "$virtbed" simulate "$config" --estimates "$estimates"
	[ "$status" -eq 2 ]
	[[ "$output" == *"no entry for type 'CG.S.2' on cluster 'c1'"* ]]
}

@test "profile measures the execution times of tasks with deadlines, where none are given" {
	sed -i '/^workload:/d; s/limits: .*/limits: [1]/; s/policies: .*/policies: [pam, mm]/; /budget_j/d
		s/repetitions: [0-9]*/repetitions: 1/; s/share: 0.[46]/&, utility_max: 1, constant_until: 3, zero_at: 3/' "$config"
	echo "environment: {pruning: {tasks: 20, level: 20, span_s: 5, left_out: 0, bin_s: 0.1}}" >>"$config"
	virtbed config check "$config" | grep -q good
	run virtbed simulate "$config"
	[ "$status" -eq 2 ]
	[[ $output = *"environment.pruning.pet: none; measure"* ]]
	run_start profile "$config" --repeat 1 --pet pet.yaml
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(grep -c 'samples: \[' pet.yaml)" -eq 4 ]
	virtbed simulate runs/*/config.yaml --trials 2 --out simulated | grep -q "on time %"
	[ "$(run_query simulated "SELECT count(*) FROM task WHERE state IN ('completed', 'dropped')")" -eq 40 ]
}

@test "profile measures what suspending takes, and simulations take it" {
	sed -i 's/^    cores: 1/    cores: 1\n    preemption: {keep: memory}/' "$config"
	run_start profile "$config" --repeat 1 --out "$BATS_TEST_TMPDIR/e.yaml" --json
	run_wait
	[ "$run_status" -eq 0 ]
	# Two suspensions on c1, in memory; two each way on c2, which says nothing.
	jq -e '[.overheads[] | .cluster + .keep] | sort == ["c1memory", "c1memory", "c2disk", "c2disk",
		"c2memory", "c2memory"]' "$run_results"
	jq -e '.overheads | all(.freeze_s >= 0.02 and .save_s >= 0.05 and .restore_s + .resume_s >= 0.05)' "$run_results"
	grep -q "^overheads:" "$BATS_TEST_TMPDIR/e.yaml"
	run "$virtbed" simulate "$config" --estimates "$BATS_TEST_TMPDIR/e.yaml" --trials 2 --out "$out"
	[ "$status" -eq 0 ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'overheads'")" -eq 6 ]
	run "$virtbed" simulate "$config" --estimates "$BATS_TEST_TMPDIR/e.yaml" --trials 2 --no-overheads \
		--out "$out-none"
	[ "$status" -eq 0 ]
	[ "$(run_query "$out-none" "SELECT value FROM meta WHERE key = 'overheads'")" -eq 0 ]
}

# Runs of few tasks, which take 20 s, and which nothing but their end limits.
write_long_tasks() {
	sed -i 's/repetitions: 5/repetitions: 50/; s/share: 0.6/share: 1/; s/share: 0.4/share: 0/
		s/arrival_mean_s: 1, duration_s: 8/arrival_mean_s: 2, duration_s: 3/
		s/budget_j: 420/budget_j: 42000/; s/duration_s: 12/duration_s: 60/' "$config"
	sed -i 's/etc_s: 2/etc_s: 20/' "$estimates"
}

# A run of such tasks; sets task to the number of a task that runs.
start_long_task() {
	write_long_tasks
	run_start run "$config" --estimates "$estimates" --policy "${1:-easy}" --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running'"
	task=$(run_query "$out" "SELECT task FROM task WHERE state = 'running' LIMIT 1")
}

@test "a controller that is killed is started again and its run continues" {
	# The run lasts longer than two restarts take on a slow machine.
	start_long_task
	kill -9 "$(run_process virtbed-controller "$out")"
	# The record, which is there at once; what is said of it may come later.
	run_wait_row "$out" "SELECT 1 FROM event WHERE kind = 'resumed'"
	within 60 pgrep -f "virtbed-controller .*$out"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "controller died .signal 9" "$run_words"
	grep -q "run 1 continues" "$run_words"
	run_assert_counts "$out"
	[ "$(run_query "$out" "SELECT count(*) FROM run")" -eq 1 ]
	[ "$(run_query "$out" "SELECT count(*) FROM event WHERE kind = 'resumed'")" -eq 2 ]
	[ "$(run_query "$out" "SELECT max(attempts) FROM task")" -eq 1 ]
	run_assert_nobody "$out"
}

@test "a task is suspended and resumed by hand" {
	start_long_task
	run "$virtbed" suspend "$task" --run "$out"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = "task $task is suspended" ]
	run "$virtbed" suspend "$task" --run "$out" --json
	[ "$status" -eq 0 ]
	jq -e ".task == $task and .held and .suspensions == 1" <<<"$output"
	run "$virtbed" resume --run "$out" --json
	jq -e ".tasks | length == 1 and .[0].task == $task and .[0].state == \"suspended\"" <<<"$output"
	run "$virtbed" resume "$task" --at "unix:$out/controller.sock"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = "task $task is running" ]
	run "$virtbed" resume "$task" --run "$out"
	[ "$status" -eq 1 ]
	[[ "$output" == *"it is not suspended"* ]]
	run "$virtbed" suspend 99999 --run "$out"
	[ "$status" -eq 2 ]
	[[ "$output" == *"there is no task '99999'"* ]]
	run "$virtbed" suspend one --run "$out"
	[ "$status" -eq 2 ]
	kill -INT "$run_pid"
	run_wait
	run "$virtbed" suspend "$task" --run "$out"
	[ "$status" -eq 1 ]
}

# Short critical tasks among long ones whose nodes they may take, on both clusters.
write_preemption() {
	sed -i '/^types:/,/^workload:/{/^ /d}
		s/duration_s: 12/duration_s: 20/; s/policies: .*/policies: [max-util, max-util-preempt-greedy]/
		s/limits: .*/limits: [1]/; s/budget_j: 420/budget_j: 42000/' "$config"
	sed -i '/^types:/a\
  - {name: IS.S.2, benchmark: is, class: S, cores: 2, repetitions: 25, memory_mib: 96, share: 0.6,\
     preemptible: true, utility_max: 1, constant_until: 6, zero_at: 6}\
  - {name: CG.S.2, benchmark: cg, class: S, cores: 2, repetitions: 5, memory_mib: 96, share: 0.4,\
     may_preempt: true, utility_max: 8, constant_until: 2.5, zero_at: 2.5}' "$config"
	sed -i 's/etc_s: 2/etc_s: 10/; s/etc_s: 4/etc_s: 2/' "$estimates"
}

@test "critical tasks preempt others, a controller that is killed meanwhile continues, and all is compared" {
	write_preemption
	# A restart may take seconds on a slow machine; a suspended task completes after it.
	sed -i 's/duration_s: 20/duration_s: 45/' "$config"
	run_start run "$config" --estimates "$estimates" --policy max-util-preempt-greedy --out "$out"
	run_wait_row "$out" "SELECT 1 FROM suspension WHERE suspended_s IS NOT NULL"
	kill -9 "$(run_process virtbed-controller "$out")"
	run_wait_for "run 1 continues"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ "$(run_query "$out" "SELECT max(attempts) FROM task")" -eq 1 ]
	run_query "$out" "SELECT * FROM suspension"
	run_query "$out" "SELECT task, type, state, started_s, ended_s, exec_s FROM task"
	# A task that was suspended and completed executed in intervals only, together at least as long as it takes.
	# A suspension lasts 2 s at least, so half a second tells time that was counted twice or not at all from
	# the 20 ms that resuming takes and the moments until an end is told.
	[ -n "$(run_query "$out" "SELECT 1 FROM task JOIN suspension USING (run, task) WHERE state = 'completed'")" ]
	[ -z "$(run_query "$out" "SELECT 1 FROM task WHERE state = 'completed' AND type = 'IS.S.2' AND exec_s < 9.9")" ]
	[ -z "$(run_query "$out" "SELECT 1 FROM task JOIN (SELECT run, task, sum(since_s - (suspended_s - save_s)) AS still_s
		FROM suspension GROUP BY 1, 2) USING (run, task)
		WHERE state = 'completed' AND abs(ended_s - started_s - still_s - exec_s) > 0.5")" ]
	[ -z "$(run_query "$out" "SELECT 1 FROM suspension WHERE suspended_s < requested_s OR since_s < suspended_s")" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM suspension_vm WHERE freeze_s > 0")" ]
}

@test "compare shows what the overheads of preemption change" {
	write_preemption
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	"$virtbed" simulate "$config" --estimates "$estimates" --trials 5 --out "$out-sim"
	run "$virtbed" compare --simulate "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"Preemption: what its overheads change"* ]]
	"$virtbed" compare --simulate "$out" "$out-sim" --json >json 2>/dev/null
	jq -e '.overheads | .samples > 0 and .from == "runs" and
		(.rows[] | select(.policy == "max-util-preempt-greedy") | .measured_suspensions > 0 and
		.with_suspensions > 0 and .without_suspensions > 0)' json
}

@test "a local scheduler that is killed is started again and its tasks are tried again" {
	# Tasks take four times as long, so that one still runs when it is killed, and the run lasts until all have ended.
	sed -i 's/repetitions: 5,/repetitions: 20,/; s/repetitions: 10,/repetitions: 40,/
		s/budget_j: 420/budget_j: 42000/; s/duration_s: 12/duration_s: 120/' "$config"
	sed -i 's/etc_s: 2/etc_s: 8/; s/etc_s: 4/etc_s: 16/' "$estimates"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running' AND cluster = 'c2'"
	kill -9 "$(run_process virtbed-local-sched "$out/state/c2")"
	run_wait_for "cluster 'c2' died .signal 9"
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'scheduler-died'")" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'lost'")" ]
}

@test "an interrupted experiment is resumed; what ended stays" {
	# Tasks of the second run run for long enough to be seen.
	write_long_tasks
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out"
	run_wait_for "run 1 of 2"
	run_wait_row "$out" "SELECT 1 FROM task WHERE run = 2 AND state = 'running'"
	kill -INT "$run_pid"
	run_wait
	[ "$run_status" -eq 1 ]
	grep -q "to continue: virtbed run .* --resume" "$run_words"
	run_assert_nobody "$out"
	local before
	before=$(run_query "$out" "SELECT * FROM run WHERE run = 1")
	run_start run "$config" --out "$out" --resume --json
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT * FROM run WHERE run = 1")" = "$before" ]
	[ "$(run_query "$out" "SELECT ended_by FROM run WHERE run = 2")" = aborted ]
	[ "$(jq '.runs | length' "$run_results")" -eq 2 ]
	run_assert_counts "$out"
}

# What the files of a run directory hold, and when they were written.
files_of() {
	(cd "$1" && find . -type f -printf '%p %T@ %s\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

@test "a finished experiment that is resumed changes nothing, and continues where more is asked for" {
	run_start run "$config" --estimates "$estimates" --limit 1 --policy easy --out "$out" --json
	run_wait
	[ "$run_status" -eq 0 ]
	cp "$run_results" first
	files_of "$out" >before
	run_start run "$config" --out "$out" --resume --json
	run_wait
	[ "$run_status" -eq 0 ]
	grep "the experiment in $out is finished: nothing is left to do" "$run_words"
	[ -z "$(grep "run directory" "$run_words" || true)" ]
	cmp first "$run_results"
	files_of "$out" | diff before -
	# Nor does it on a machine where it could not run.
	VIRTBED_IMAGE=$BATS_TEST_TMPDIR/none run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	grep -w easy "$run_results"
	files_of "$out" | diff before -
	# Nor does it add what another build would have recorded.
	sqlite3 "$out/run.sqlite" "DELETE FROM meta WHERE key = 'noise'"
	files_of "$out" >before
	run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	files_of "$out" | diff before -
	run_start run "$config" --out "$out" --resume --repeat 2
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT count(*) FROM run WHERE ended_by != 'aborted'")" -eq 2 ]
}

@test "where virtbed run was killed, its daemons keep the name until they have ended" {
	local daemons=() program
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running'"
	for program in virtbed-controller virtbed-local-sched; do
		daemons+=("$(run_process "$program" "$out")")
		readlink /proc/"${daemons[-1]}"/fd/* | grep -q "/run-$run_name.lock\$"
	done
	kill -9 "$run_pid"
	run_wait
	run_start run "$config" --out "$out" --resume
	kill -9 "${daemons[@]}" 2>/dev/null || true
	run_wait
	[ "$run_status" -eq 0 ]
	run_assert_counts "$out"
	[ ! -e "/run/virtbed/locks/run-$run_name.lock" ]
	[ ! -e "${TMPDIR:-/tmp}/run-$run_name.lock" ]
}

# Every row of the runs in LIST. rows_of LIST
rows_of() {
	local table
	for table in run task sample decision; do
		run_query "$out" "SELECT * FROM $table WHERE run IN ($1)"
	done
}

@test "Ctrl-C in the third of eight runs: resumed, the finished ones stay, the rest is done, one report" {
	sed -i 's/duration_s: 8/duration_s: 2/; s/duration_s: 12/duration_s: 3/' "$config"
	run_start run "$config" --estimates "$estimates" --repeat 2 --out "$out"
	run_wait_for "run 2 of 8"
	run_wait_row "$out" "SELECT 1 FROM task WHERE run = 3" # of any state: on a busy machine none may be seen running
	kill -INT "$run_pid"
	run_wait
	[ "$run_status" -eq 1 ]
	run_assert_nobody "$out"
	local finished before
	finished=$(run_query "$out" "SELECT group_concat(run) FROM run WHERE ended_by <> 'aborted'")
	[[ "$finished" == 1,2* && "$finished" != *8 ]]
	before=$(rows_of "$finished")
	run_start run "$config" --out "$out" --resume --json
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(rows_of "$finished")" = "$before" ]
	run_assert_counts "$out"
	# All eight are there, each once: two policies, two limits, two repeats.
	[ "$(run_query "$out" "SELECT count(DISTINCT policy || limit_fraction || '-' || repeat) FROM run
		WHERE ended_by <> 'aborted'")" -eq 8 ]
	[ "$(run_query "$out" "SELECT count(*) FROM run WHERE ended_by <> 'aborted'")" -eq 8 ]
	run "$virtbed" report "$out"
	[ "$status" -eq 0 ]
	[[ "$output" == *"over 2 repeats of one workload"* ]]
	# What was run cannot be taken back.
	run "$virtbed" run "$config" --out "$out" --resume --repeat 1
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"--repeat 1: $out has repeat 2 of "*" already"*"give at least 2"* ]]
	[ "$(jq .repeats "$out/plan.json")" -eq 2 ]
}

@test "an experiment is resumed after a reboot: the interrupted run is repeated" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE run = 1 AND state = 'running'"
	# As a loss of power does: no process reports anything any more. The children die with their parent.
	kill -KILL "$(run_process virtbed-controller "$out")" "$run_pid"
	wait "$run_pid" || true
	within 30 run_assert_nobody "$out"
	sqlite3 -cmd '.timeout 60000' "$out/run.sqlite" "UPDATE run SET boot_id = 'another' WHERE run = 1"
	run_start run "$config" --out "$out" --resume
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT ended_by FROM run WHERE run = 1")" = aborted ]
	[ -n "$(run_query "$out" "SELECT 1 FROM run WHERE run = 2 AND ended_by IS NOT NULL")" ]
	run_assert_counts "$out"
}

@test "a live check says what works, and leaves nothing" {
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	run "$virtbed" config check --live "$config" --json
	echo "$output"
	[ "$status" -eq 0 ]
	jq -e 'all(.result != "FAILED")' <<<"$(sed -n '/^\[/,$p' <<<"$output")"
	"$virtbed" config check --live "$config" >table 2>/dev/null
	grep -qE "^c2 +channels +works +an MPI task of 4 ranks" table
	grep -qE "^c1 +h1 +meter +works" table
	[ -z "$(ls "$TMPDIR")" ]
	run_assert_nobody "$TMPDIR"
}

@test "a live check that fails names the cluster and the cure, and exits with 1" {
	printf '#!/bin/sh\necho "the bridge br7 is not there" >&2\nexit 1\n' >"$BATS_TEST_TMPDIR/refuses"
	chmod +x "$BATS_TEST_TMPDIR/refuses"
	ln -sf "$BATS_TEST_TMPDIR/refuses" "$VIRTBED_LIBEXEC/virtbed-local-sched"
	run "$virtbed" config check --live "$config"
	echo "$output"
	[ "$status" -eq 1 ]
	grep -qE "^c1 +scheduler +FAILED .*br7 is not there" <<<"$output"
	grep -q "^c1 scheduler: " <<<"$output"
	export VIRTBED_IMAGE=$BATS_TEST_TMPDIR/none
	run "$virtbed" config check --live "$config"
	[ "$status" -eq 1 ]
	grep -qE "^ +image +FAILED +there is none in '$VIRTBED_IMAGE'" <<<"$output"
	grep -q "^image: ./testbed build" <<<"$output"
}

@test "a run directory with a long path works" {
	out=$BATS_TEST_TMPDIR/$(printf 'd%.0s' $(seq 120))
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.3 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
}

@test "local schedulers that run already are used, and left alone" {
	local address=unix:$BATS_TEST_TMPDIR/own.sock own
	sed -i "s|  - name: c2|&\n    local_scheduler: $address|" "$config"
	"$VIRTBED_LIBEXEC/virtbed-local-sched" --config "$config" --cluster c2 --state "$BATS_TEST_TMPDIR" \
		--listen "$address" 3>&- &
	own=$!
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait
	kill -0 $own
	kill $own
	[ "$run_status" -eq 0 ]
	[ ! -e "$out/logs/local-sched-c2.log" ]
	[ -n "$(run_query "$out" "SELECT 1 FROM task WHERE cluster = 'c2'")" ]
}

@test "a meter that tells only during the run what its watts are means over is in the heading" {
	VIRTBED_MEAN_S=60 run_start run "$config" --estimates "$estimates" --policy easy --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'meter_mean_s'")" = 60 ]
	run "$virtbed" report "$out"
	echo "$output"
	[[ "$output" == *"means over"*"60 s"* ]]
}

@test "a meter whose watts are means over a time that it does not tell is in the heading" {
	VIRTBED_MEAN_S=-1 run_start run "$config" --estimates "$estimates" --policy easy --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'meter_mean_unknown'")" = true ]
	run "$virtbed" report "$out"
	echo "$output"
	[[ "$output" == *"watts are means over a time that is not known"* ]]
}

@test "a run on a machine that ignores its caps says so in its heading" {
	local cpu=$BATS_TEST_TMPDIR/sys/devices/system/cpu/cpu0
	mkdir -p "$cpu/cpufreq"
	ln -s /dev/null "$cpu/cpufreq/scaling_max_freq" # takes what is written, and stays as it is
	sed -i "s|name: h1|&, sys_root: '$BATS_TEST_TMPDIR/sys'|; s|hosts:|max_mhz: 1600\n    base_mhz: 2660\n    &|" "$config"
	sed -i "s|- name: h1, \(.*\)|- name: h1\n        \1|" "$config"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 0.3 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'caps_effective'")" = no ]
	run "$virtbed" report "$out"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"NOT EFFECTIVE"* ]]
}

@test "a second run of the same name is refused" {
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_for "run directory"
	run "$virtbed" run "$config" --estimates "$estimates" --out "$BATS_TEST_TMPDIR/other"
	[ "$status" -eq 1 ]
	[[ "$output" == *"another run of '$run_name'"* ]]
	run_wait
	[ "$run_status" -eq 0 ]
}

@test "a local scheduler that hangs is away, and the run continues without it" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	sed -i 's/duration_s: 12/duration_s: 60/; s/duration_s: 8/duration_s: 50/; s/budget_j: 420/budget_j: 42000/' "$config"
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running' AND cluster = 'c2'"
	kill -STOP "$(run_process virtbed-local-sched "$out/state/c2")"
	run_wait_for "cluster 'c2' has not answered"
	kill -KILL "$(run_process virtbed-local-sched "$out/state/c2")"
	run_wait
	[ "$run_status" -eq 0 ]
	[ -n "$(run_query "$out" "SELECT 1 FROM event WHERE kind = 'node-down'")" ]
	run_assert_counts "$out"
}

@test "a full disk ends the run with a line, and no process is left" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to make a small file system"
	mkdir "$out"
	mount -t tmpfs -o size=300k tmpfs "$out" || skip "cannot mount"
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	umount "$out"
	[ "$run_status" -eq 1 ]
	grep -qiE "cannot be written|full|No space" "$run_words"
	run_assert_nobody "$out"
}

@test "a local scheduler that cannot start is one clear error" {
	ln -sf /bin/false "$VIRTBED_LIBEXEC/virtbed-local-sched"
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	[ "$run_status" -eq 1 ]
	grep -q "local scheduler of cluster 'c[12]' died (exit status 1) again and again" "$run_words"
	run_assert_nobody "$out"
}

@test "a local scheduler that refuses its input is not tried again" {
	printf '#!/bin/sh\necho "no guest image" >&2\nexit 2\n' >"$BATS_TEST_TMPDIR/refuses"
	chmod +x "$BATS_TEST_TMPDIR/refuses"
	ln -sf "$BATS_TEST_TMPDIR/refuses" "$VIRTBED_LIBEXEC/virtbed-local-sched"
	run_start run "$config" --estimates "$estimates" --out "$out"
	run_wait
	[ "$run_status" -eq 2 ]
	grep -q "no guest image" "$run_words"
	! grep -q "again" "$run_words"
}

# bad NAME PATTERN ARGUMENT...: exits with 2, says PATTERN, starts nothing.
bad() {
	local pattern=$1
	shift
	run "$virtbed" run "$@"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" =~ $pattern ]]
	[ ! -e "$out/run.sqlite" ]
}

@test "bad input exits with 2 and says what to do" {
	bad "one configuration"
	bad "none.yaml" "$BATS_TEST_TMPDIR/none.yaml" --out "$out"
	bad "no estimate for type 'IS.S.2'.*--profile" "$config" --out "$out"
	bad "best-ever" "$config" --estimates "$estimates" --policy best-ever --out "$out"
	bad "--limit" "$config" --estimates "$estimates" --limit 1.5 --out "$out"
	bad "--limit" "$config" --estimates "$estimates" --limit 1,,2 --out "$out"
	bad "no whole number from 1" "$config" --estimates "$estimates" --repeat -1 --out "$out"
	bad "runs/" "$config" --resume
	bad "Unknown option" "$config" --frobnicate
	sed "/meter:/d" "$config" >"$BATS_TEST_TMPDIR/no-meter.yaml"
	bad "host 'h1' of cluster 'c1' has no meter: .*limit of 0.6 .*--limit 1" \
		"$BATS_TEST_TMPDIR/no-meter.yaml" --estimates "$estimates" --out "$out"
	sed "s|/dev/null|$BATS_TEST_TMPDIR/no-password|" "$config" >"$BATS_TEST_TMPDIR/no-password.yaml"
	bad "clusters.0..hosts.0..meter.password_file: '.*/no-password' .*No such file" \
		"$BATS_TEST_TMPDIR/no-password.yaml" --estimates "$estimates" --out "$out"
}

@test "a run directory that is in use is not written over" {
	mkdir "$out"
	touch "$out/run.sqlite"
	run "$virtbed" run "$config" --estimates "$estimates" --out "$out"
	[ "$status" -eq 2 ]
	[[ "$output" == *--resume* ]]
}
