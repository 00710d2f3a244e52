#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies that are programs of their own (`exec:COMMAND`): tests/oracle/twin.c decides as a policy of the tree
# does, and misbehaves where it is told to. Runs and services have local schedulers without VMs.

bats_require_minimum_version 1.5.0
load lab
load run
load service

# What simulations need, in a place that the sandbox's user can read. use_twin
use_twin() {
	place=$(mktemp -d)
	echo "$place" >"$BATS_TEST_TMPDIR/place"
	chmod 755 "$place"
	cp "$run_build/tests/oracle/policy-twin" "$place/twin" || skip "tests are not built"
	twin=exec:$place/twin
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	out=$BATS_TEST_TMPDIR/out
}

# For runs whose program is not to be late on a machine that is busy otherwise. patient
patient() {
	sed -i 's|^workload:|plugin: {deadline_s: 30}\n&|' "$config"
}

# The figures of a policy in what `simulate --json` printed. figures POLICY FILE
figures() {
	jq -cS --arg policy "$1" '[.[] | select(.policy == $policy) | del(.policy)]' "$2"
}

@test "a program that decides as a policy of the tree has its results, in simulate, study and decide" {
	use_twin
	local snapshot hs22=$BATS_TEST_DIRNAME/../../configs/testbed-hs22.yaml
	"$virtbed" simulate "$hs22" --trials 3 --limit 1,0.5 --policy "max-upe,$twin --differences max-upe" \
		--json --out "$out" >results.json
	[ "$(figures max-upe results.json)" = "$(figures "$twin --differences max-upe" results.json)" ]
	[ "$(figures max-upe results.json)" != "[]" ]
	"$virtbed" simulate "$hs22" --trials 3 --limit 1,0.5 --policy "max-upe,$twin --differences max-upe" \
		--jobs 1 --json | cmp - results.json
	# What is stored reads back, and is decided again by both.
	run "$virtbed" rerun "$out"
	[ "$(grep -c "all as stored" <<<"$output")" -eq 4 ]
	snapshot=$(run_query "$out" "SELECT snapshot FROM decision WHERE run = 2 AND actions <> '[]' LIMIT 1")
	"$virtbed" decide --json --policy max-upe - <<<"$snapshot" >own.json
	"$virtbed" decide --json - <<<"$snapshot" | cmp - own.json
	[ "$(jq length own.json)" -gt 0 ]
	[ "$(run_query "$out" "SELECT policy FROM run WHERE run = 2")" = "$twin --differences max-upe" ]
	"$virtbed" report "$out" | grep -qF "$twin --differences max-upe"
	sed -n '/^    {"policy": "dynmcb8"/,/^     "down": /s/^    //p' \
		"$BATS_TEST_DIRNAME/../../docs/reference/snapshot.md" >shared.json
	"$virtbed" decide --json shared.json >own.json
	"$virtbed" decide --json --policy "$twin dynmcb8" shared.json | cmp - own.json
	# What a program says of its plan does not steer the terminal.
	"$virtbed" decide --policy "$twin --at 1 boasts dynmcb8" shared.json | grep -F ': chooses a\x1b[31mb'
	write_study
	"$virtbed" study study.yaml --out study --policy "max-upe,$twin max-upe"
	[ "$(study_of max-upe)" = "$(study_of "$twin max-upe")" ]
	[ "$(study_of max-upe | wc -l)" -eq 4 ]
}

# A study of a small environment: study.yaml
write_study() {
	sed 's/^workload:/study: {trials: 2}\n&/; s/limits: .*/limits: [1, 0.5]/' \
		"$BATS_TEST_DIRNAME/../../configs/testbed-hs22.yaml" >study.yaml
}

# What a policy earned in a study, trial by trial. study_of POLICY
study_of() {
	sqlite3 study/study.sqlite "SELECT trial, \"limit\", utility, energy_j FROM result WHERE policy = '$1' ORDER BY 1, 2"
}

@test "a program that does not decide ends a simulation with the reason" {
	use_twin
	echo '1 0 1 10 2 -1 -1 2 10 -1 1 1 1 1 1 -1 -1 -1' >trace.swf
	run "$virtbed" replay --procs 4 --policy "$twin easy" trace.swf
	[ "$status" -eq 2 ]
	[[ "$output" == *"a replay asks no policy from outside"* ]]
	local hs22=$BATS_TEST_DIRNAME/../../configs/testbed-hs22.yaml
	run "$virtbed" simulate "$hs22" --trials 1 --limit 1 --policy "$twin --at 3 illegal easy"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"policy \"$twin --at 3 illegal easy\" did not decide mapping event "*": illegal: actions[0], drop of task 4711: "* ]]
	run "$virtbed" simulate "$hs22" --trials 1 --policy "exec:$place/nothing"
	[ "$status" -eq 2 ]
	[[ "$output" == *"cannot execute \"$place/nothing\": No such file"* ]]
	# A file of this folder is not looked for in PATH.
	cp "$place/twin" mine
	run "$virtbed" simulate "$hs22" --trials 1 --policy "exec:mine"
	[ "$status" -eq 2 ]
	[[ "$output" == *"cannot execute \"mine\": it is not in PATH; for the file of that name in this folder write exec:./mine"* ]]
	run "$virtbed" run "$config" --estimates "$estimates" --limit 1 --out "$out" --policy "exec:mine"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"exec:./mine"* ]]
	sed 's/^workload:/plugin: {simulate_deadline_s: 0.2}\n&/' "$hs22" >short.yaml
	run "$virtbed" simulate short.yaml --trials 1 --limit 1 --policy "$twin --at 2 hang easy"
	[ "$status" -eq 1 ]
	[[ "$output" == *": late: it did not answer within 0.2 s"* ]]
	write_study
	run "$virtbed" study study.yaml --out study --policy "$twin --at 2 error easy"
	[ "$status" -eq 1 ]
	[[ "$output" == *": refused: no idea"* ]]
	sed 's/^workload:/plugin: {fallback: nonsense}\n&/' "$hs22" >other.yaml
	run "$virtbed" simulate other.yaml --trials 1 --limit 1 --policy "$twin easy"
	[ "$status" -eq 2 ]
	[[ "$output" == *"plugin.fallback: unknown policy \"nonsense\""* ]]
}

@test "a program decides in a run, its fallback where it fails, and both are carried out again" {
	use_twin
	patient
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out" \
		--policy "$twin --differences max-upr,$twin --at 2 die max-upr"
	run_wait
	[ "$run_status" -eq 0 ]
	cat "$run_words"
	[ "$(run_query "$out" "SELECT count(*) FROM event WHERE run = 1 AND kind = 'fallback'")" -eq 0 ]
	[ "$(run_query "$out" "SELECT detail FROM event WHERE run = 1 AND kind = 'outside'" |
		jq '.events == .used and .events > 1')" = true ]
	run_query "$out" "SELECT detail FROM event WHERE run = 2 AND kind = 'fallback' LIMIT 1" |
		jq -e '.fallback == "easy" and (.reason | startswith("died: it ended with exit status 3"))'
	run_query "$out" "SELECT detail FROM event WHERE run = 2 AND kind = 'outside'" |
		jq -e '.events > .used and .died == .events - .used'
	grep -qE "^exec:.* --at 2 die max-upr was used in [0-9]+ of [0-9]+ mapping events; easy decided the others, the last one as it was died: it ended with exit status 3.*; all of them are in $out/logs/controller.log, " "$run_words"
	run ! grep -qE "^exec:.* --differences max-upr was used in" "$run_words"
	# Its words are in the log, and those of the repeats that are simulated afterwards nowhere.
	grep -qE " info policy exec:.*: Traceback: all is lost$" "$out/logs/controller.log"
	run ! grep -F " info policy " "$run_words"
	run "$virtbed" rerun "$out"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "all as stored" <<<"$output")" -eq 2 ]
	run "$virtbed" report "$out"
	echo "$output"
	[[ "$output" == *"Policies from outside: mapping events in which they were used"* ]]
	"$virtbed" report "$out" --format json | jq -e '[.. | objects | .plugins? // empty] | flatten |
		length == 2 and (.[0] | .events == .used and .own_ms > 0) and (.[1] | .died > 0)'
	TWIN_GOOD=1 "$virtbed" simulate "$out/config.yaml" --trials 3 --out "$out-sim" --limit 1 \
		--policy "$twin --differences max-upr,$twin --at 2 die max-upr,easy"
	"$virtbed" compare "$out" "$out-sim" >compared
	cat compared
	grep -qF "$twin --differences max-upr" compared
	grep -qE "at 100 % was used in [0-9]+ of [0-9]+ mapping events; its fallback decided the others$" compared
	# What is simulated behind a comparison ends where a program does not decide, or is not there.
	run "$virtbed" compare --attribute "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"--attribute: policy \"$twin --at 2 die max-upr\" did not decide mapping event "*": died: "* ]]
	run "$virtbed" compare --simulate "$out" "$out-sim"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"--simulate: policy \"$twin --at 2 die max-upr\" did not decide mapping event "*": died: "* ]]
	"$virtbed" rerun "$out" --run 1 --from 3 --json | jq -e '[.. | .utility_mean? // empty] | length > 0 and min > 0'
	run "$virtbed" rerun "$out" --run 1 --from 3 --policy "$twin --at 1 die easy"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"policy \"$twin --at 1 die easy\" did not decide mapping event "* ]]
	printf 'overheads:\n  - {cluster: c1, freeze_s: 0.1, save_s: 0.1, restore_s: 0.1, resume_s: 0.1}\n' >>"$out/config.yaml"
	sqlite3 "$out/run.sqlite" "UPDATE run SET policy = 'easy' WHERE run = 2"
	"$virtbed" compare --simulate "$out" "$out-sim" | grep "Preemption: what its overheads change"
	mv "$place/twin" "$place/gone"
	for option in attribute simulate; do
		run "$virtbed" compare --$option "$out" "$out-sim"
		echo "$output"
		[ "$status" -eq 2 ]
		[[ "$output" == *"--$option: policy \"$twin --differences max-upr\" does not start: "* ]]
	done
	run_assert_nobody "$out"
}

@test "a shared object that crashes in a run ends neither the run nor the comparison behind it" {
	command -v cc >/dev/null && command -v pkg-config >/dev/null || skip "no cc, or no pkg-config"
	use_twin
	export PKG_CONFIG_PATH=$run_build/controller/plugin/so/pkgconfig
	# shellcheck disable=SC2046
	cc -shared -fPIC $(pkg-config --cflags virtbed-policy) -DFAULT=CRASH -o "$place/crash.so" \
		"$BATS_TEST_DIRNAME/../policy/wrong.c"
	# Without the sandbox, whose user cannot read where the programs are linked to here.
	sed -i 's|^workload:|plugin: {sandbox: no}\n&|; s/duration_s: 12/duration_s: 4/; s/duration_s: 8/duration_s: 3/' "$config"
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out" --policy "so:$place/crash.so"
	run_wait
	cat "$run_words"
	[ "$run_status" -eq 0 ]
	run_query "$out" "SELECT detail FROM event WHERE kind = 'outside'" |
		jq -e '.used == 0 and .died == 3 and .disabled'
	run_query "$out" "SELECT detail FROM event WHERE kind = 'fallback' LIMIT 1" |
		jq -e '.reason | startswith("died: it was killed by signal 11")'
	run_assert_nobody "$out"
}

@test "a run whose controller is killed continues without its program, and counts what was before" {
	use_twin
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out" --policy "$twin easy"
	run_wait_row "$out" "SELECT 1 FROM task WHERE state = 'running'"
	mv "$place/twin" "$place/gone"
	kill -KILL "$(run_process virtbed-controller "$out")"
	run_wait
	cat "$run_words"
	[ "$run_status" -eq 0 ]
	run_query "$out" "SELECT detail FROM event WHERE kind = 'outside'" |
		jq -e --argjson decisions "$(run_query "$out" "SELECT count(*) FROM decision")" \
			'.events == $decisions and .used > 0 and .timed == 0 and .died == 3 and
			.events == .used + .died + (.disabled | if type == "number" then . else 0 end)'
	"$virtbed" report "$out" --format json | jq -e '[.. | objects | .plugins? // empty] | flatten | .[0] | .used > 0 and .died == 3'
}

@test "run and serve say which folder is closed to the user of the sandbox" {
	[ "$(id -u)" -eq 0 ] || skip "the sandbox has another user for root alone"
	use_twin
	mkdir -m 700 "$place/closed"
	mkdir -m 755 "$place/closed/open"
	cp "$place/twin" "$place/closed/open"
	local policy closed
	for policy in "exec:$place/closed/open/twin easy" "exec:env $place/closed/open/twin easy"; do
		closed="policy \"$policy\": the folder \"$place/closed\" is closed to user nobody, which it has in the sandbox"
		run "$virtbed" run "$config" --estimates "$estimates" --limit 1 --out "$out" --policy "$policy"
		echo "$output"
		[ "$status" -eq 2 ]
		[[ "$output" == *"--policy: $closed"*": move \"$place/closed/open/twin\" to "*", set plugin.user "*", or plugin.sandbox: no"* ]]
	done
	sed "s|^workload:|service: {mapping_interval_s: 60, policy: '$policy'}\n&|" "$config" >served.yaml
	run "$virtbed" serve served.yaml --estimates "$estimates" --state "$state" --listen "unix:$socket"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"service.policy: $closed"* ]]
	run ! "$virtbed" config check served.yaml
	sed -i 's/^workload:/plugin: {user: root}\n&/' served.yaml
	run "$virtbed" config check served.yaml
	[ "$status" -eq 2 ]
	[[ "$output" == *"service.policy: policy \"$policy\": the sandbox cannot run it as root; set plugin.user"* ]]
	sed -i 's/user: root/memory_mib: 15/' served.yaml
	run "$virtbed" config check served.yaml
	[ "$status" -eq 2 ]
	[[ "$output" == *"plugin.memory_mib: 15 is too little; give 16 to "* ]]
}

@test "rerun has the sandbox of the run, and decide that of root for what a snapshot names" {
	use_twin
	chmod 777 "$place"
	printf '#!/bin/sh\nreadlink /proc/self/ns/net >>%s\nexec %s "$@"\n' "$place/nets" "$place/twin" >"$place/where"
	chmod 755 "$place/where"
	local own snapshot
	own=$(readlink /proc/self/ns/net)
	sed -i 's/duration_s: 12/duration_s: 4/; s/duration_s: 8/duration_s: 3/' "$config"
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out" --policy "exec:$place/where easy"
	run_wait
	[ "$run_status" -eq 0 ]
	: >"$place/nets"
	"$virtbed" rerun "$out"
	[ -s "$place/nets" ]
	run ! grep -F "$own" "$place/nets"
	snapshot=$(run_query "$out" "SELECT snapshot FROM decision WHERE run = 1 LIMIT 1")
	: >"$place/nets"
	"$virtbed" decide --json - <<<"$snapshot"
	[ "$(id -u)" -ne 0 ] || run ! grep -F "$own" "$place/nets"
	"$virtbed" decide --json --policy "exec:$place/where easy" - <<<"$snapshot"
	[ "$(tail -1 "$place/nets")" = "$own" ]
	# As the store says that it was run.
	sqlite3 "$out/run.sqlite" "UPDATE meta SET value = value || char(10) || 'plugin: {sandbox: no}' WHERE key = 'config_yaml'"
	: >"$place/nets"
	"$virtbed" rerun "$out"
	[ "$(sort -u "$place/nets")" = "$own" ]
}

@test "a service keeps its deadline, falls back, disables a program and asks it again after a reload" {
	use_twin
	sed -i "s|^workload:|service: {mapping_interval_s: 60, policy: '$twin --at 1 hang easy'}\nplugin: {deadline_s: 2}\n&|" "$config"
	serve
	submit '{"type": "IS.S.2", "count": 2}'
	wait_state 0 completed
	wait_state 1 completed
	run_query "$state" "SELECT detail FROM event WHERE kind = 'fallback' LIMIT 1" |
		jq -e '.fallback == "easy" and (.reason | startswith("late: it did not answer within 2 s"))'
	api GET /metrics | grep -E '^virtbed_fallback_decisions_total [1-9]'
	"$virtbed" top --json --uri "unix:$socket" | jq -e '.status.program | .name == "twin" and .fallback == "easy" and
		.failed.late >= 1 and .events == .used + ([.failed[]] | add)'
	"$virtbed" top --uri "unix:$socket" | grep -E '^program: twin, (behind|disabled until a reload); used in 0 of [0-9]+ events; easy decided [0-9]+: [1-9][0-9]* late'
	sed -i 's| --at 1 hang easy| easy|' "$config"
	kill -HUP "$run_pid"
	run_wait_for "policy $twin easy"
	local before
	before=$(run_query "$state" "SELECT count(*) FROM event WHERE kind = 'fallback'")
	submit '{"type": "IS.S.2"}'
	wait_state 2 completed
	[ "$(run_query "$state" "SELECT count(*) FROM event WHERE kind = 'fallback'")" -eq "$before" ]
	"$virtbed" top --json --uri "unix:$socket" | jq -e '.status.program | .state == "ready" and .used >= 1 and
		.event_mean_s > 0'
	# Its program is gone: a service that continues falls back, and a reload is refused.
	mv "$place/twin" "$place/gone"
	kill -KILL "$(run_process virtbed-controller "$state")"
	run_wait_for "serving at unix:$socket" 60 2
	grep -F "policy \"$twin easy\" does not start: " "$run_words"
	submit '{"type": "IS.S.2"}'
	wait_state 3 completed
	[ "$(run_query "$state" "SELECT count(*) FROM event WHERE kind = 'fallback' AND detail LIKE '%\"died: %'")" -gt 0 ]
	kill -HUP "$run_pid"
	run_wait_for "there is no program \"$place/twin\""
	stop_service
	serve
	stop_service
	run "$virtbed" serve "$config" --estimates "$estimates" --state "$state-new" --listen "unix:$socket"
	[ "$status" -eq 2 ]
	[[ "$output" == *"service.policy: "*"there is no program \"$place/twin\""* ]]
	mv "$place/gone" "$place/twin"
	"$virtbed" rerun "$state"
}

# Whether this machine lets a sandbox mount file systems read-only.
lets_mount() {
	local user=()
	[ "$(id -u)" -eq 0 ] || user=(--map-root-user)
	unshare "${user[@]}" --mount --net --pid --fork mount -o bind,remount,ro / 2>/dev/null
}

@test "a program in the sandbox copies files with their modes, but gives none a set-id bit" {
	use_twin
	cat >"$place/copies" <<'END'
#!/usr/bin/python3
import json, os, shutil, sys, tempfile

def tried(what, *arguments, **named):
    try:
        what(*arguments, **named)
        return "done"
    except OSError as error:
        return type(error).__name__

def report():
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy")
        shutil.copy(__file__, copy)
        shutil.copy2(__file__, copy + "2")
        same = os.stat(copy + "2").st_mtime == os.stat(__file__).st_mtime
        return [oct(os.stat(copy).st_mode & 0o7777), same, tried(os.chmod, copy, 0o4755),
                tried(os.open, copy + "3", os.O_CREAT | os.O_WRONLY, 0o2755), tried(os.chmod, sys.argv[1], 0o600),
                tried(os.utime, sys.argv[1])]

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        answer = {"type": "hello", "protocol": 1, "name": "copies"}
    else:
        answer = {"type": "error", "number": message["number"], "reason": json.dumps(report())}
    print(json.dumps(answer), flush=True)
END
	chmod 755 "$place/copies"
	# A file of the sandbox's user, where it cannot change any.
	local own
	own=$(mktemp -p /var/tmp)
	[ "$(id -u)" -ne 0 ] || chown nobody "$own"
	sed 's/^workload:/plugin: {sandbox_simulations: yes}\n&/' "$BATS_TEST_DIRNAME/../../configs/testbed-hs22.yaml" >boxed.yaml
	run "$virtbed" simulate boxed.yaml --trials 1 --limit 1 --policy "exec:$place/copies $own"
	rm -f "$own"
	echo "$output"
	lets_mount || skip "this machine lets no sandbox mount file systems"
	[[ "$output" == *': refused: ["0o755", true, "PermissionError", "PermissionError", "OSError", "OSError"]'* ]]
}

@test "a run with queues does not wait for a program that hangs, and is carried out again" {
	use_twin
	cat >queues.yaml <<END
name: queues
clusters:
  - {name: m1, nodes: 2, cores: 1, memory_mib: 112, simulated: {idle_w: 60, seed: 1}}
  - {name: m2, nodes: 1, cores: 2, memory_mib: 128, simulated: {idle_w: 60, seed: 2}}
types:
  - {name: short, benchmark: is, class: S, cores: 2, repetitions: 4, memory_mib: 96, share: 1,
     utility_max: 1, constant_until: 3, zero_at: 3}
estimates:
  - {type: short, cluster: m1, etc_s: 0.2, etc_sd_s: 0.01, eec_j: 20}
  - {type: short, cluster: m2, etc_s: 0.2, etc_sd_s: 0.01, eec_j: 20}
environment:
  pruning:
    bin_s: 0.1
    queue_length: 3
    left_out: 0
    list: [{type: short, arrival_s: 0.1, deadline_s: 90}, {type: short, arrival_s: 0.2, deadline_s: 90},
           {type: short, arrival_s: 0.3, deadline_s: 90}]
    entries: [{type: short, machine: m1, samples: [0.2, 0.3]}, {type: short, machine: m2, samples: [0.2, 0.3]}]
experiment: {policies: ["$twin --at 2 hang mm"], limits: [1], mapping_interval_s: 1, duration_s: 60, baseline_s: 1,
             task_deadline_s: 25}
plugin: {deadline_s: 1}
END
	unset VIRTBED_LIBEXEC # local schedulers that simulate their clusters
	"$virtbed" run queues.yaml --out "$out"
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'completed'")" -eq 3 ]
	run_query "$out" "SELECT detail FROM event WHERE kind = 'outside'" | jq -e '.late > 0 and .events == .used + .late'
	run "$virtbed" rerun "$out"
	echo "$output"
	[[ "$output" == *"all as stored"* ]]
}
