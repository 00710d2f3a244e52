#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The local scheduler on a lab of two blades, from an idle node to the death of any part of it.

bats_require_minimum_version 1.5.0
load lab
load local

setup_file() {
	local_set_up_file c1 c2
}

teardown_file() {
	local_tear_down_file
}

@test "says what the cluster can do" {
	run local_get c1 /v1/capabilities
	[ "$(jq -r .ready <<<"$output")" = true ]
	[ "$(jq -r .cpu_cap <<<"$output")" = quota ]
	[ "$(jq -r .meter <<<"$output")" = dcmi ]
	[ "$(jq -r .modelled_watts <<<"$output")" = true ]
	[ "$(jq -r '.virt_reason | length' <<<"$output")" -gt 0 ]
	[ "$(local_get c2 /v1/capabilities | jq -r .cpu_cap)" = none ]
}

# The first VM has a period of 101 ms; 1600 of 2660 MHz are 60.15 % of it.
@test "caps the VMs of a cluster by one quota each" {
	run local_virsh b1 schedinfo "virtbed-$local_lab-c1-n0"
	[[ $output =~ global_quota\ *:\ 60752 ]]
	[[ $output =~ global_period\ *:\ 101000 ]]
	run local_virsh b2 schedinfo "virtbed-$local_lab-c2-n0"
	[[ ! $output =~ global_quota\ *:\ [1-9] ]]
}

@test "runs a task over two VMs and keeps its output" {
	local_put c1 two "$(local_task is S 2 1 '[0, 1]' 600)"
	task=$(local_await c1 two)
	[ "$(jq -r .outcome <<<"$task")" = completed ]
	[[ $(jq -r .output <<<"$task") =~ Verification\ *=\ *SUCCESSFUL ]]
	[ "$(jq '.requested_ns < .started_ns and .started_ns <= .ended_ns' <<<"$task")" = true ]
	[ "$(jq '.benchmark_time_s > 0' <<<"$task")" = true ]
	local_has_cpu_times c1 "$task"
	[ "$(jq '.host_energy_uj > 0' <<<"$task")" = true ]
}

@test "what a task prints can be read while it runs" {
	[ "$(local_status c2 GET /v1/tasks/printing/output)" = 404 ]
	[ "$(local_status c1 GET '/v1/tasks/two/output?from=x')" = 400 ]
	[ "$(local_status c1 GET '/v1/tasks/two/output?wait_s=61')" = 400 ]
	local_put c2 printing "$(local_task is S 2 100000 '[0]' 3000)"
	local_get c2 '/v1/tasks/printing/output?wait_s=60' >"$BATS_TEST_TMPDIR/first"
	jq -e '.output | test("IS repetition 1 of 100000")' "$BATS_TEST_TMPDIR/first"
	jq -e '.from == 0 and .next > 0 and (.ended | not)' "$BATS_TEST_TMPDIR/first"
	next=$(jq .next "$BATS_TEST_TMPDIR/first")
	local_get c2 "/v1/tasks/printing/output?from=$next&wait_s=60" >"$BATS_TEST_TMPDIR/second"
	jq -e ".from == $next and .next > $next and (.output | test(\"repetition\"))" "$BATS_TEST_TMPDIR/second"
	local_task_is c2 printing running
	local_get c2 /v1/tasks/printing/output >"$BATS_TEST_TMPDIR/now"
	jq -e ".from == 0 and .next >= $(jq .next "$BATS_TEST_TMPDIR/second")" "$BATS_TEST_TMPDIR/now"
	# A client that waits for more than there is learns of the end.
	local_get c2 '/v1/tasks/printing/output?from=2000000&wait_s=60' >"$BATS_TEST_TMPDIR/end" &
	reader=$!
	[ "$(local_status c2 DELETE /v1/tasks/printing)" = 200 ]
	wait "$reader"
	jq -e .ended "$BATS_TEST_TMPDIR/end"
	local_assert_outcome c2 printing killed
	local_get c2 /v1/tasks/printing | jq -j .output >"$BATS_TEST_TMPDIR/whole"
	jq -j -s 'map(.output) | add' "$BATS_TEST_TMPDIR"/{first,second} >"$BATS_TEST_TMPDIR/start"
	cmp -n "$(stat -c %s "$BATS_TEST_TMPDIR/start")" "$BATS_TEST_TMPDIR"/{start,whole}
	within 120 local_all_ready c2
}

# local_has_steps CLUSTER ID [MORE THAN]
local_has_steps() {
	[ "$(local_get "$1" "/v1/tasks/$2" | jq '.progress.done // 0')" -gt "${3:-0}" ]
}

@test "ends a task whose rank hangs, and none that is slow" {
	local_put c1 slow "$(local_task cg W 1 1000 '[0]' 3000)"
	local_put c1 hung "$(local_task cg W 1 1000 '[1]' 3000)"
	within 120 local_has_steps c1 slow
	within 120 local_has_steps c1 hung
	local_virsh b1 qemu-agent-command "virtbed-$local_lab-c1-n1" '{"execute": "guest-exec", "arguments": {
		"path": "/bin/sh", "arg": ["-c", "kill -STOP $(pidof cg)"]}}'
	before=$(local_get c1 /v1/tasks/slow | jq .progress.done)
	task=$(local_await c1 hung)
	echo "$task"
	[ "$(jq -r .outcome <<<"$task")" = failed ]
	[ "$(jq -r .cause <<<"$task")" = stalled ]
	steps=$(jq -r '"\(.progress.done) of \(.progress.total)"' <<<"$task")
	[[ $(jq -r .reason <<<"$task") =~ "no progress for "[0-9]+" s: rank 0 is at step $steps;" ]]
	jq -e '.progress.age_s >= 60 and .progress.age_s <= 120 and (.ended_ns - .requested_ns) / 1e9 < 600' <<<"$task"
	local_task_is c1 slow running
	local_has_steps c1 slow "$before"
	[ "$(local_status c1 DELETE /v1/tasks/slow)" = 200 ]
	local_assert_outcome c1 slow killed
	[ "$(local_get c1 /v1/tasks/slow | jq -r .cause)" = killed ]
	within 120 local_all_ready c1
}

# The body of a PUT of a script: its text is read from standard input. local_script USER NODES [RESULT...]
local_script() {
	local user=$1 nodes=$2
	shift 2
	jq -n -c --arg data "$(base64 -w0)" --argjson user "$user" --argjson nodes "$nodes" '{type: "S", benchmark: "script",
		class: "S", ranks: ($nodes | length * 2), repetitions: 1, nodes: $nodes, deadline_s: 600, user: $user, queue: true,
		script: {program: "job", arguments: ["one two", "3"], results: $ARGS.positional, files: [
			{name: "job", mode: 448, data: $data}, {name: "d/in", data: ("input" | @base64)}]}}' --args "$@"
}

@test "runs a script as its user, with files in and out, and its output is read meanwhile" {
	local_put c2 script "$(local_script 1234 '[0]' out d link none <<'END'
#!/bin/sh
echo "early $(id -u) $(id -g) $(pwd) $HOME [$1] [$2] $VIRTBED_INDEX $VIRTBED_CORES"
echo oops >&2
for closed in /run/virtbed-rank.0.out /dev/virtio-ports/virtbed.pmi.0 /proc/1/environ; do
	! cat "$closed" 2>/dev/null || echo "reads $closed"
done
! touch /etc/x /run/x /work/x 2>/dev/null || echo "writes where it must not"
cat d/in >out; echo ' and output' >>out
ln -s /etc/passwd link
echo 7 >d/seven
touch "d/odd
name"
mkfifo d/pipe
until [ -e /tmp/go ]; do sleep 0.1; done
exit 3
END
)"
	local_get c2 '/v1/tasks/script/output?wait_s=60' | jq -r .output >"$BATS_TEST_TMPDIR/early"
	within 60 grep_output c2 script oops
	grep "^early 1234 1234 /work/1234 /work/1234 \[one two\] \[3\] 0 2$" <(local_get c2 /v1/tasks/script/output | jq -r .output)
	local_task_is c2 script running
	[ "$(local_get c2 /v1/tasks/script/files | jq -c '[.files, .skipped]')" = '[[],[]]' ]
	[ "$(local_status c2 DELETE /v1/tasks/script)" = 200 ]
	local_assert_outcome c2 script killed
	# Killed or not, what it left comes out.
	local_get c2 /v1/tasks/script/files >"$BATS_TEST_TMPDIR/files"
	jq -e '[.files[].name] | sort == ["d/in", "d/seven", "out"]' "$BATS_TEST_TMPDIR/files"
	[ "$(jq -r '.files[] | select(.name == "out") | .data | @base64d' "$BATS_TEST_TMPDIR/files")" = "input and output" ]
	[ "$(jq -r '.files[] | select(.name == "out") | .sha256' "$BATS_TEST_TMPDIR/files")" = \
		"$(echo 'input and output' | sha256sum | cut -d ' ' -f 1)" ]
	jq -e '.skipped | length == 4 and any(test("^link: a symbolic link")) and any(test("^none: No such file"))' \
		"$BATS_TEST_TMPDIR/files"
	[ -z "$(local_get c2 /v1/tasks/script | jq -r .output | grep -E '^(reads|writes) ')" ]
	[ "$(stat -c %a "$BATS_FILE_TMPDIR/c2.state/tasks/script.files")" = 600 ]
	within 120 local_all_ready c2
}

# The data of a file that came out of a task. local_file CLUSTER ID NAME
local_file() {
	local_get "$1" "/v1/tasks/$2/files" | jq -r --arg name "$3" '.files[] | select(.name == $name) | .data | @base64d'
}

@test "a script of two nodes runs on both, and they find one another" {
	local_put c1 both "$(local_script 1234 '[1, 0]' token own none <<'END' | jq -c '.ranks = 2'
echo "node $VIRTBED_NODE of $VIRTBED_NODES is $(id -u) in $(pwd) with $(cat d/in)"
own=$(echo "$VIRTBED_HOSTS" | cut -d , -f "$((VIRTBED_NODE + 1))")
ip -4 -o address show eth0 | grep -q " $own/" || exit 4
echo "$VIRTBED_NODE" >own
if [ "$VIRTBED_NODE" = 0 ]; then
	head -c 12 /dev/urandom | sha256sum >token
	nc -l -p 7777 -e cat token
else
	until nc "${VIRTBED_HOSTS%%,*}" 7777 </dev/null >token 2>/dev/null && [ -s token ]; do sleep 0.1; done
fi
END
)"
	local_assert_outcome c1 both completed
	[ "$(local_get c1 /v1/tasks/both | jq -r .output)" = "node 0 of 2 is 1234 in /work/1234 with input
---- node 1: standard output ----
node 1 of 2 is 1234 in /work/1234 with input" ]
	local_get c1 /v1/tasks/both/files | jq -e '([.files[].name] | sort) == ["node-1/own", "node-1/token", "own", "token"] and
		.skipped == ["none: No such file or directory", "node-1/none: No such file or directory"]'
	[ "$(local_file c1 both own) $(local_file c1 both node-1/own)" = "0 1" ]
	[ -n "$(local_file c1 both token)" ]
	[ "$(local_file c1 both token)" = "$(local_file c1 both node-1/token)" ]
	within 120 local_all_ready c1
}

@test "a script of two nodes stands still on both, is killed on both, and fails with the first" {
	local_put c1 long "$(local_script 1234 '[0, 1]' own <<'END' | jq -c '.ranks = 2'
echo "$VIRTBED_NODE" >own
if [ "$VIRTBED_NODE" = 0 ]; then
	nc -l -p 7777 -e true
else
	until nc "${VIRTBED_HOSTS%%,*}" 7777 </dev/null 2>/dev/null; do sleep 0.1; done
fi
echo both are here
sleep 1000
END
)"
	within 60 grep_output c1 long "^both are here"
	[ "$(local_status c1 PUT /v1/tasks/long/suspensions/1 '{"keep": "memory"}')" = 201 ]
	within 180 local_task_is c1 long suspended
	within 180 local_all_ready c1
	[ "$(local_status c1 PUT /v1/tasks/long/resumptions/1 '{"nodes": [0, 1]}')" = 201 ]
	within 180 local_task_is c1 long running
	[ "$(local_status c1 DELETE /v1/tasks/long)" = 200 ]
	local_assert_outcome c1 long killed
	[ "$(local_file c1 long own) $(local_file c1 long node-1/own)" = "0 1" ]
	within 180 local_all_ready c1
	local_put c1 one-fails "$(echo '[ "$VIRTBED_NODE" = 1 ] || sleep 1000; echo so; exit 3' |
		local_script 1234 '[0, 1]' | jq -c '.ranks = 2')"
	local_assert_outcome c1 one-fails failed
	[ "$(local_get c1 /v1/tasks/one-fails | jq -r .reason)" = "the script exited with status 3 on node 1" ]
	[ "$(local_get c1 /v1/tasks/one-fails | jq -r .output)" = "---- node 0: exit status 137 ----
---- node 1: standard output ----
so
---- node 1: exit status 3 ----" ]
	within 180 local_all_ready c1
}

grep_output() {
	local_get "$1" "/v1/tasks/$2/output" | jq -r .output | grep -q "$3"
}

@test "a script's exit status is its outcome, and of too much output it says so" {
	local_put c2 good "$(echo 'head -c 3000000 /dev/zero | tr "\0" x; echo; echo end' | local_script 1234 '[0]')"
	local_assert_outcome c2 good completed
	[ "$(local_get c2 /v1/tasks/good | jq '.output | length')" -lt 1100000 ]
	[[ $(local_get c2 /v1/tasks/good | jq -j .output | tail -n 1) == "virtbed: the output continues, but only its first MiB"* ]]
	within 120 local_all_ready c2
	local_put c2 bad "$(echo 'echo so; exit 3' | local_script 1234 '[0]')"
	local_assert_outcome c2 bad failed
	[ "$(local_get c2 /v1/tasks/bad | jq -r .reason)" = "the script exited with status 3" ]
	within 120 local_all_ready c2
	[ "$(local_status c2 PUT /v1/tasks/x "$(local_task script S 2 1 '[0]' 600)")" = 400 ]
	[ "$(local_status c2 PUT /v1/tasks/x "$(echo x | local_script 7 '[0]' | jq -c 'del(.user)')")" = 400 ]
	[ "$(local_status c2 PUT /v1/tasks/x "$(echo x | local_script 7 '[0]' ../out)")" = 400 ]
	[ "$(local_status c2 PUT /v1/tasks/x "$(echo x | local_script 7 '[0]' | jq -c '.script.files[0].name = "/job"')")" = 400 ]
}

@test "a VM that was one user's is booted again before it is another's" {
	local_put c2 mine "$(echo 'echo secret >/tmp/secret; echo secret >mine; sleep 1000 & exit 0' | local_script 1234 '[0]')"
	local_assert_outcome c2 mine completed
	within 120 local_all_ready c2
	local_put c2 again "$(echo 'cat /tmp/secret; ls; ps | grep sleep | grep -v grep; true' | local_script 1234 '[0]')"
	[[ $(local_await c2 again | jq -r .output) == $'secret\nd\njob' ]]
	within 120 local_all_ready c2
	other=$(echo 'cat /tmp/secret /work/1234/mine; id -u' | local_script 1235 '[0]')
	[ "$(local_status c2 PUT /v1/tasks/other "$(jq -c 'del(.queue)' <<<"$other")")" = 409 ]
	grep -q "another user's" "$BATS_FILE_TMPDIR/body"
	local_put c2 other "$other"
	local_assert_outcome c2 other completed
	[[ $(local_get c2 /v1/tasks/other | jq -j .output | tail -n 1) == 1235 ]]
	run ! grep_output c2 other ^secret
	local_get c2 '/v1/events?after=0' | jq -e '.events[] | select(.kind == "node-down" and .node == 0 and
		(.detail.reason | test("again for another user")))'
	# MPI ranks run as users, too; here beside those of another one in a VM of their own.
	within 120 local_all_ready c2
	local_put c2 ranks "$(local_task is_cg S 2 1 '[0]' 600 | jq -c '. + {user: 1235}')"
	local_assert_outcome c2 ranks completed
	within 120 local_all_ready c2
	local_assert_works c2 '[0]'
}

@test "runs four ranks on two VMs of two cores, and the composite" {
	local_put c2 four "$(local_task is S 4 1 '[1, 0]' 600)"
	local_assert_outcome c2 four completed
	local_put c2 composite "$(local_task is_cg S 2 1 '[1]' 600)"
	local_assert_outcome c2 composite completed
}

# local_verify CLASS DEADLINE KERNEL...: over both VMs of c2, two ranks in each.
local_verify() {
	local class=$1 deadline=$2 kernel
	shift 2
	for kernel in "$@"; do
		local_put c2 "$kernel-$class" "$(local_task "$kernel" "$class" 4 1 '[0, 1]' "$deadline")"
		local_assert_outcome c2 "$kernel-$class" completed
		within 120 local_all_ready c2
	done
}

@test "every kernel verifies in class S over two VMs" {
	local_verify S 600 is_cg mg ep
}

@test "kernels verify in class W over two VMs" {
	local_verify W 600 is mg ep
}

@test "CG and the composite verify in class W over two VMs" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	local_verify W 600 cg is_cg
}

@test "serves tasks on different nodes side by side" {
	local_put c2 left "$(local_task is S 2 2 '[0]' 600)"
	local_put c2 right "$(local_task is S 2 2 '[1]' 600)"
	local_assert_outcome c2 left completed
	local_assert_outcome c2 right completed
}

@test "answers the same request the same and another one with a conflict" {
	body=$(local_task is S 2 20 '[0, 1]' 600) # it still runs when others want its nodes
	local_put c1 same "$body"
	[ "$(local_status c1 PUT /v1/tasks/same "$body")" = 200 ]
	[ "$(local_status c1 PUT /v1/tasks/same "$(local_task is S 2 2 '[0, 1]' 600)")" = 409 ]
	[ "$(local_status c1 PUT /v1/tasks/busy "$(local_task is S 1 1 '[0]' 600)")" = 409 ]
	local_assert_outcome c1 same completed
	[ "$(local_status c1 PUT /v1/tasks/same "$body")" = 200 ]
	[ "$(local_get c1 /v1/tasks | jq '[.tasks[] | select(.id == "same")] | length')" = 1 ]
	[ "$(local_status c1 GET /v1/tasks/busy)" = 404 ]
}

@test "refuses what makes no sense and stays alive" {
	[ "$(local_status c1 PUT /v1/tasks/x "$(local_task lu S 2 1 '[0, 1]' 600)")" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/x "$(local_task is S 2 1 '[0, 7]' 600)")" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/x "$(local_task is S 2 1 '[0, 1]' -1)")" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/x '{')" = 400 ]
	[ "$(local_status c1 PUT /v1/tasks/..%2fx "$(local_task is S 2 1 '[0, 1]' 600)")" != 201 ]
	[ "$(local_status c1 DELETE /v1/tasks/never)" = 404 ]
	[ "$(local_status c1 GET '/v1/events?after=-1')" = 400 ]
	[ "$(local_status c1 GET '/v1/events?after=0&wait_s=9999')" = 400 ]
	[ "$(local_status c1 GET /v1/nothing)" = 404 ]
	local_assert_works c1
}

@test "kills a task on request, again and again" {
	local_put c1 kill "$(local_long_task)"
	within 120 local_task_is c1 kill running
	[ "$(local_status c1 DELETE /v1/tasks/kill)" = 200 ]
	[ "$(local_status c1 DELETE /v1/tasks/kill)" = 200 ]
	local_assert_outcome c1 kill killed
	[ "$(local_status c1 DELETE /v1/tasks/kill)" = 200 ]
	local_put c1 at-once "$(local_long_task)"
	[ "$(local_status c1 DELETE /v1/tasks/at-once)" = 200 ]
	local_assert_outcome c1 at-once killed
	within 120 local_all_ready c1
	local_assert_works c1
}

@test "starts queued tasks when their turn comes, and takes them out on request" {
	queued=$(local_task is S 2 1 '[0, 1]' 600 | jq -c '. + {queue: true}')
	local_put c1 before "$(local_long_task)"
	local_put c1 out "$queued"
	local_put c1 over "$(jq -c '. + {start_within_s: 0.01}' <<<"$queued")"
	local_put c1 turn "$(jq -c '. + {start_within_s: 100}' <<<"$queued")"
	[ "$(local_status c1 PUT /v1/tasks/turn "$(jq -c '. + {start_within_s: 90}' <<<"$queued")")" = 200 ]
	[ "$(local_status c1 PUT /v1/tasks/turn "$(local_task is S 2 1 '[0, 1]' 600)")" = 409 ]
	for id in out over turn; do
		local_task_is c1 $id queued
	done
	[ "$(local_status c1 DELETE /v1/tasks/out)" = 200 ]
	local_assert_outcome c1 out killed
	[ "$(local_status c1 DELETE /v1/tasks/before)" = 200 ]
	local_assert_outcome c1 before killed
	local_assert_outcome c1 turn completed
	local_task_is c1 over queued
	[ "$(local_status c1 DELETE /v1/tasks/over)" = 200 ]
	local_assert_outcome c1 over killed
	kinds=$(local_get c1 '/v1/events?after=0' | jq -r '.events[] |
		select(.task == ("before", "out", "over", "turn")) | "\(.task) \(.kind)"' | grep -v started | xargs)
	[ "$kinds" = "out task-ended before task-ended turn task-begun turn task-ended over task-ended" ]
	end=$(local_get c1 /v1/tasks/before | jq .ended_ns)
	run local_get c1 /v1/tasks/turn
	[ "$(jq ".queued_ns < $end and $end < .requested_ns" <<<"$output")" = true ]
}

@test "ends a task at its deadline" {
	local_put c2 late "$(local_long_task '[0]' 2)"
	local_assert_outcome c2 late deadline
	within 120 local_all_ready c2
}

@test "fails a task whose ranks the kernel refuses" {
	local_put c2 three "$(local_task is S 3 1 '[0, 1]' 600)"
	local_assert_outcome c2 three failed
	[[ $(local_get c2 /v1/tasks/three | jq -r .reason) =~ rank ]]
	local_assert_works c2 '[0]'
}

@test "a reader who waits gets an event at once" {
	last=$(local_get c1 '/v1/events?after=0' | jq .last)
	local_get c1 "/v1/events?after=$last&wait_s=60" >"$BATS_TEST_TMPDIR/event" &
	reader=$!
	local_put c1 event "$(local_task is S 1 1 '[0]' 600)"
	wait "$reader"
	[ "$(jq -r '.events[0].kind' "$BATS_TEST_TMPDIR/event")" = task-started ]
	[ "$(jq -r '.events[0].task' "$BATS_TEST_TMPDIR/event")" = event ]
	local_assert_outcome c1 event completed
}

@test "counts energy without falling" {
	run local_get c1 /v1/energy
	[ "$(jq '.hosts[0].energy_uj > 0 and .hosts[0].watts >= 50' <<<"$output")" = true ]
	run local_get c1 '/v1/samples?after=0'
	[ "$(jq '[.samples[].energy_uj] | . == sort' <<<"$output")" = true ]
}

@test "notices a dead VM, loses its task and boots a new one" {
	local_put c1 dead-vm "$(local_long_task)"
	within 120 local_task_is c1 dead-vm running
	kill -9 $(local_qemus c1 1)
	local_assert_outcome c1 dead-vm lost
	local_get c1 '/v1/events?after=0' | jq -e '.events[] | select(.kind == "node-down" and .node == 1)'
	within 180 local_all_ready c1
	local_assert_works c1
}

@test "notices an agent that hangs" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	local_put c1 hang "$(local_long_task)"
	within 120 local_task_is c1 hang running
	kill -STOP $(local_qemus c1 0)
	local_assert_outcome c1 hang lost
	within 180 local_all_ready c1
	local_assert_works c1
}

# How often c1's log since line N has this text. local_logged N TEXT
local_logged() {
	tail -n "+$(($1 + 1))" "$BATS_FILE_TMPDIR/c1.log" | grep -c -F -- "$2"
}

# Both of its nodes were asked for TASK as often as a hung agent is. local_asked_in_vain N TASK
local_asked_in_vain() {
	[ "$(local_logged "$1" "task=$2 rank 0: not asked")" -ge 2 ] &&
		[ "$(local_logged "$1" "task=$2 rank 1: not asked")" -ge 2 ]
}

local_both_paused() {
	[ "$(local_logged "$1" "its VM was paused from outside")" = 2 ]
}

local_both_went_on() {
	[ "$(local_logged "$1" "after it was paused from outside for")" = 2 ]
}

local_waits_to_start() {
	[ "$(local_logged "$1" "not started yet: ")" -ge 2 ]
}

@test "keeps a task whose VMs are paused from outside for a while" {
	vms=$(local_get c1 /v1/nodes | jq -r '.nodes[].vm')
	lines=$(wc -l <"$BATS_FILE_TMPDIR/c1.log")
	local_put c1 paused "$(local_long_task)"
	within 120 local_task_is c1 paused running
	for vm in $vms; do local_virsh b1 suspend "$vm"; done
	within 120 local_asked_in_vain "$lines" paused
	[ "$(local_logged "$lines" "its VM was paused from outside; the task waits for it")" = 2 ]
	[[ $(local_get c1 /v1/nodes | jq -r '.nodes[].reason') =~ "paused from outside" ]]
	for vm in $vms; do local_virsh b1 resume "$vm"; done
	within 120 local_both_went_on "$lines"
	local_task_is c1 paused running
	[ "$(local_status c1 DELETE /v1/tasks/paused)" = 200 ]
	local_assert_outcome c1 paused killed
	within 120 local_all_ready c1
}

@test "starts a task when its VMs, paused from outside, run again" {
	vms=$(local_get c1 /v1/nodes | jq -r '.nodes[].vm')
	lines=$(wc -l <"$BATS_FILE_TMPDIR/c1.log")
	for vm in $vms; do local_virsh b1 suspend "$vm"; done
	within 120 local_both_paused "$lines"
	local_put c1 waits "$(local_task is S 2 1 '[0, 1]' 200)"
	within 120 local_waits_to_start "$lines"
	local_task_is c1 waits starting
	for vm in $vms; do local_virsh b1 resume "$vm"; done
	local_assert_outcome c1 waits completed
}

# Restarts c2's local scheduler: its VM lives on, and nothing is asked of it in the next seconds. local_renew_c2 ARGUMENT...
local_renew_c2() {
	local_end KILL c2
	local_start c2 "$@"
	within 120 local_all_ready c2
}

# local_ask_c2 REQUEST [OPTION...]
local_ask_c2() {
	local request=$1
	shift
	local_virsh b2 qemu-agent-command "$@" "virtbed-$local_lab-c2-n0" "$request"
}

local_c2_is_late() {
	! local_ask_c2 '{"execute": "guest-ping"}' --timeout 1
}

# The agent of c2's VM answers nothing for SECONDS, by the guest's clock, and libvirt has found it late. local_delay_c2 SECONDS
local_delay_c2() {
	local_ask_c2 "$(jq -n -c --arg seconds "$1" '{execute: "guest-exec", arguments: {path: "/bin/sh", arg: ["-c",
		"sleep 1; agent=$(pidof qemu-ga); kill -STOP $agent; sleep \($seconds); kill -CONT $agent"]}}')"
	within 30 local_c2_is_late
}

@test "starts a task by an agent that libvirt has found late before" {
	local_renew_c2
	local_delay_c2 10
	local_put c2 behind "$(local_task is S 2 1 '[0]' 200)"
	local_assert_outcome c2 behind completed
}

@test "waits for agents as much longer as boots may take longer" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	local_renew_c2 --boot-timeout 900
	local_delay_c2 30
	local_put c2 slow "$(local_task is S 2 1 '[0]' 200)"
	local_assert_outcome c2 slow completed
	local_renew_c2
}

# One question after the other to the agent of c2's VM, until one has waited too long for its turn.
local_ask_c2_on() {
	while local_ask_c2 '{"execute": "guest-ping"}' --timeout 300; do :; done >/dev/null
}

@test "waits for its turn at an agent that takes long to answer another client" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	local_renew_c2 --boot-timeout 1800
	local_ask_c2 '{"execute": "guest-exec", "arguments": {"path": "/bin/sh", "arg": ["-c",
		"sleep 2; agent=$(pidof qemu-ga); kill -STOP $agent; sleep 100; kill -CONT $agent"]}}'
	# The agent is late with the one's, and the other waits for that for 30 s.
	local_ask_c2_on 3>&- &
	one=$!
	local_ask_c2_on 3>&- &
	other=$!
	wait -n "$one" "$other" || true
	local_put c2 turn "$(local_task is S 2 1 '[0]' 400)"
	local_assert_outcome c2 turn completed
	kill "$one" "$other" || true
	local_renew_c2
}

@test "outlives its libvirtd, and so do its VMs" {
	before=$(local_qemus c1)
	pid=$(local_libvirtd b1)
	kill -9 "$pid"
	within 120 local_libvirtd_is_new b1 "$pid"
	within 180 local_all_ready c1
	[ "$(local_qemus c1)" = "$before" ]
	local_assert_works c1
	local_put c1 libvirtd "$(local_task is W 2 5 '[0, 1]' 600)"
	within 120 local_task_is c1 libvirtd running
	kill -9 "$(local_libvirtd b1)"
	task=$(local_await c1 libvirtd)
	[[ $(jq -r .outcome <<<"$task") =~ completed|lost ]]
	within 180 local_all_ready c1
	local_assert_works c1
}

local_libvirtd_is_new() {
	local pid
	pid=$(local_libvirtd "$1") && [ "$pid" != "$2" ]
}

# Its VMs run on; all connections to it break while several calls wait.
@test "outlives a libvirtd that stands still for a while" {
	lines=$(wc -l <"$BATS_FILE_TMPDIR/c1.log")
	local_put c1 still "$(local_task is W 2 5 '[0, 1]' 600)"
	within 120 local_task_is c1 still running
	pid=$(local_libvirtd b1)
	kill -STOP "$pid"
	within 60 local_has_logged "$lines" "libvirtd does not answer" || { kill -CONT "$pid"; false; }
	kill -CONT "$pid"
	task=$(local_await c1 still)
	[[ $(jq -r .outcome <<<"$task") =~ completed|lost ]]
	within 180 local_all_ready c1
	[ "$(local_logged "$lines" CRITICAL)" = 0 ]
	local_assert_works c1
}

# local_has_logged N TEXT
local_has_logged() {
	[ "$(local_logged "$1" "$2")" -gt 0 ]
}

# Nor does its reading, that comes late, make what another one used negative.
@test "a VM that hangs holds up no task of another one on its host" {
	qemu=$(local_qemus c1 0)
	kill -STOP "$qemu"
	local_put c1 beside "$(local_task is S 1 1 '[1]' 600)"
	within 60 local_task_is c1 beside ended || { kill -CONT "$qemu"; false; }
	kill -CONT "$qemu"
	local_get c1 /v1/tasks/beside | jq -e '.outcome == "completed"'
	local_has_cpu_times c1 "$(local_get c1 /v1/tasks/beside)"
	local_assert_works c1
}

@test "after kill -9 adopts its VMs, loses the running task once and numbers events on" {
	before=$(local_qemus c1)
	last=$(local_get c1 '/v1/events?after=0' | jq .last)
	incarnation=$(local_get c1 /v1/capabilities | jq -r .incarnation)
	local_put c1 crash "$(local_long_task)"
	local_put c1 crash-turn "$(local_task is S 2 1 '[0, 1]' 600 | jq -c '. + {queue: true}')"
	within 120 local_task_is c1 crash running
	local_end KILL c1
	local_start c1
	within 180 local_all_ready c1
	[ "$(local_qemus c1)" = "$before" ]
	local_assert_outcome c1 crash lost
	local_assert_outcome c1 crash-turn lost
	[ "$(local_status c1 PUT /v1/tasks/crash "$(local_long_task)")" = 200 ]
	[ "$(local_get c1 /v1/capabilities | jq -r .incarnation)" = "$incarnation" ]
	run local_get c1 "/v1/events?after=$last"
	[ "$(jq -r '[.events[].seq] | . == [range(.[0]; .[0] + length)]' <<<"$output")" = true ]
	[ "$(jq ".events[0].seq == $last + 1" <<<"$output")" = true ]
	[ "$(jq '[.events[] | select(.kind == "task-ended" and .task == "crash")] | length' <<<"$output")" = 1 ]
	local_assert_works c1
}

@test "refuses a state directory that is in use, a cluster and a lab that are not there" {
	run -1 "$local_program" --config "$BATS_FILE_TMPDIR/config.yaml" --cluster c1 \
		--listen "unix:$BATS_TEST_TMPDIR/x.sock" --state "$BATS_FILE_TMPDIR/c1.state" --image "$lab_image"
	[[ $output =~ "another local scheduler" ]]
	run -2 "$local_program" --config "$BATS_FILE_TMPDIR/config.yaml" --cluster c9 \
		--listen "unix:$BATS_TEST_TMPDIR/x.sock" --state "$BATS_TEST_TMPDIR/state" --image "$lab_image"
	[[ $output =~ "no cluster 'c9'" ]]
	run -2 "$local_program" --config "$BATS_FILE_TMPDIR/config.yaml" --cluster c1 --lab "$local_lab-x" \
		--listen "unix:$BATS_TEST_TMPDIR/x.sock" --state "$BATS_TEST_TMPDIR/state" --image "$lab_image"
	[ "${#lines[@]}" = 1 ]
	run -2 "$local_program" --config "$BATS_FILE_TMPDIR/config.yaml" --cluster c1 \
		--listen "unix:$BATS_TEST_TMPDIR/x.sock" --state "$BATS_TEST_TMPDIR/state" --image "$BATS_TEST_TMPDIR"
	[[ $output =~ "no guest image" ]]
	run -2 "$local_program" --cluster c1
}

# Another local scheduler of c1, with a state directory of its own. local_second [STATE]
local_second() {
	timeout 60 "$local_program" --config "$BATS_FILE_TMPDIR/config.yaml" --cluster c1 --listen "unix:$BATS_TEST_TMPDIR/x.sock" \
		--state "${1:-$BATS_TEST_TMPDIR/state}" --image "$lab_image"
}

@test "a second local scheduler of the same cluster is refused, also with a copy of its state directory" {
	before=$(local_qemus c1)
	run -1 local_second
	[[ $output =~ "is served on host 'b1' by another local scheduler (pid $(cat "$BATS_FILE_TMPDIR/c1.pid") on machine" ]]
	cp -a "$BATS_FILE_TMPDIR/c1.state" "$BATS_TEST_TMPDIR/copy"
	run -1 local_second "$BATS_TEST_TMPDIR/copy"
	[[ $output =~ "by another local scheduler (pid $(cat "$BATS_FILE_TMPDIR/c1.pid") on machine" ]]
	[ "$(local_qemus c1)" = "$before" ]
	local_all_ready c1
}

# The pool of a blade, as the machine sees it.
local_pool() {
	echo "/var/lib/virtbed/lab/$local_lab/$1/lib/images/virtbed"
}

@test "VMs and volumes of others are left alone, whatever their names" {
	local_end KILL c1
	name=virtbed-$local_lab-c1-n7
	cat >"$BATS_TEST_TMPDIR/foreign.xml" <<END
<domain type='qemu'><name>$name</name><title>somebody's</title><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os><devices><memballoon model='none'/><video><model type='none'/></video></devices></domain>
END
	local_virsh b1 create "$BATS_TEST_TMPDIR/foreign.xml"
	touch "$(local_pool b1)/$name."{swap,save}
	local_start c1
	within 180 local_all_ready c1
	[ "$(local_virsh b1 domstate "$name")" = running ]
	[ -e "$(local_pool b1)/$name.swap" ] && [ -e "$(local_pool b1)/$name.save" ]
	grep "VM '$name' has a name of this cluster, but another owner" "$BATS_FILE_TMPDIR/c1.log"
	local_virsh b1 destroy "$name"
	rm "$(local_pool b1)/$name."{swap,save}
}

@test "nodes whose network is cut lose their task and are booted again, from an image that is sent again" {
	before=$(local_qemus c1)
	nic=$(local_virsh b1 domiflist "virtbed-$local_lab-c1-n1" | awk '/bridge/ {print $1}')
	local_virsh b1 domif-setlink "virtbed-$local_lab-c1-n1" "$nic" down
	truncate -s 4096 "$(local_pool b1)"/*-initramfs
	local_put c1 cut "$(local_task is S 2 1 '[0, 1]' 100)"
	task=$(local_await c1 cut)
	echo "$task"
	[ "$(jq -r .outcome <<<"$task")" = lost ]
	[[ $(jq -r .reason <<<"$task") =~ "network of VM 'c1-n0', 'c1-n1' is cut"$ ]]
	within 180 local_all_ready c1
	[ "$(local_qemus c1)" != "$before" ]
	grep "initramfs' on the host is damaged; it is sent again" "$BATS_FILE_TMPDIR/c1.log"
	local_assert_works c1
}

@test "uses little memory and no more than it must of a core" {
	# At its highest, the upload of the image included: 34 MiB of the 40 MB that are wanted.
	local highest_kib
	highest_kib=$(awk '/VmHWM/ {print $2}' "/proc/$(cat "$BATS_FILE_TMPDIR/c2.pid")/status")
	echo "$highest_kib KiB"
	[ "$highest_kib" -lt 34816 ]
}

local_says_full() {
	local_get "$1" /v1/nodes | jq -e '.nodes[0].reason | test("storage pool .virtbed. is full: [0-9.]+ MiB are free, image file .* needs ")'
}

@test "a stopped local scheduler leaves no VM and no swap disk" {
	local_put c2 stop "$(local_long_task '[0]')"
	local_end TERM c2
	[ -z "$(local_virsh b2 list --name)" ]
	[[ ! $(local_virsh b2 vol-list virtbed) =~ swap ]]
	[ ! -S "$BATS_FILE_TMPDIR/c2.sock" ]
	[ "$(local_virsh b2 vol-list virtbed | grep -c -F "virtbed-$local_lab")" = 0 ]
	# Nor does a full pool leave anybody in the dark.
	nsenter -t "$(local_libvirtd b2)" -m -p mount -t tmpfs -o size=4m none /var/lib/libvirt/images/virtbed
	local_start c2
	within 60 local_says_full c2
	nsenter -t "$(local_libvirtd b2)" -m -p umount -l /var/lib/libvirt/images/virtbed
	within 180 local_all_ready c2
	local_assert_outcome c2 stop lost
}
