#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed serve`: tasks that people submit while it runs, and what is left of them when a part of it, or all
# of it, is killed. With local schedulers that have no VMs; 62-service-lab.bats does so on a real lab.

bats_require_minimum_version 1.5.0
load lab
load run
load service

use_scripted() {
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	sed -i 's/^workload:/service: {mapping_interval_s: 60}\n&/' "$config"
}

@test "what cannot be served is refused, and says why" {
	use_scripted
	sed -i 's/^service:.*/service: {policy: max-upt+filter:task:2.0}/' "$config"
	run "$virtbed" config check "$config"
	[ "$status" -eq 2 ]
	[[ $output == *"service.policy: 'max-upt+filter:task:2' goes by what is left of an energy budget"* ||
		$output == *"goes by what is left of an energy budget"* ]]
	sed -i 's/^service:.*/service: {policy: nonsense}/' "$config"
	run "$virtbed" serve "$config" --state "$state"
	[ "$status" -eq 2 ]
	[[ $output == *"service.policy: "*nonsense* ]]
	sed -i 's/^service:.*/service: {group: no-such-group-here}/' "$config"
	run "$virtbed" serve "$config" --state "$state"
	[ "$status" -eq 2 ]
	[[ $output == *"no group 'no-such-group-here'"* ]]
	sed -i '/^service:/d' "$config"
	run "$virtbed" serve "$config" --state "$state"
	[ "$status" -eq 2 ]
	[[ $output == *"no estimate for type 'IS.S.2'"*"virtbed profile"* ]]
	[[ $output != *"add --profile"* ]]
	[ ! -e "$state" ]
}

# A place that another user than root can reach, from where `virtbed`, as that user, is $virtbed. use_other_user
use_other_user() {
	local as=
	place=$(mktemp -d)
	echo "$place" >"$BATS_TEST_TMPDIR/place"
	if [ "$(id -u)" -eq 0 ]; then
		command -v setpriv >/dev/null || skip "no setpriv"
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	fi
	cp "$run_build/controller/cli/virtbed" "$run_build/controller/api/virtbed-controller" \
		"$run_build/local-sched/virtbed-local-sched" "$place"
	printf '#!/bin/sh\nexec %s %s/virtbed "$@"\n' "$as" "$place" >"$place/as"
	chmod 755 "$place" "$place/as"
	mkdir -m 700 "$place/home" "$place/session"
	[ -z "$as" ] || chown 65534:65534 "$place/home" "$place/session"
	virtbed=$place/as
	export HOME=$place/home VIRTBED_LIBEXEC=$place
	unset VIRTBED_URI XDG_RUNTIME_DIR XDG_STATE_HOME STATE_DIRECTORY RUNTIME_DIRECTORY
	cd "$place"
}

# What is started in one session is found in any: with XDG_RUNTIME_DIR, with another one, and without.
found_from_everywhere() {
	"$virtbed" clusters | grep -q s1
	XDG_RUNTIME_DIR=$place/session "$virtbed" clusters | grep -q s1
	XDG_RUNTIME_DIR=$place/home "$virtbed" clusters | grep -q s1
}

@test "a service is found in every session of its user, and its tokens with it" {
	local name=found-$BASHPID
	use_other_user
	run_name=$name
	sed "s/^name:.*/name: $name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$place/config.yaml"
	# Nothing serves yet, and nothing was served.
	run -2 "$virtbed" token list
	[[ $output == *"which controller?"* ]]

	XDG_RUNTIME_DIR=$place/session run_start serve config.yaml
	run_wait_for "serving at unix:$place/session/virtbed/controller.sock" 120
	found_from_everywhere
	"$virtbed" token create --user nobody --expires 1h 2>"$BATS_TEST_TMPDIR/token-words"
	[ -s "$place/home/.local/state/virtbed/tokens.json" ]
	stop_found
	# It need not run.
	[ "$("$virtbed" token list --json | jq '.tokens | length')" = 1 ]

	# A session's directory that is not there, or not this user's, as after su, is passed over.
	mkdir "$place/other-session"
	[ "$(id -u)" -ne 0 ] || XDG_RUNTIME_DIR=$place/other-session run_start serve config.yaml
	[ "$(id -u)" -eq 0 ] || XDG_RUNTIME_DIR=$place/no-session run_start serve config.yaml
	run_wait_for "serving at unix:$place/home/.local/state/virtbed/controller.sock" 120
	found_from_everywhere
	stop_found

	XDG_RUNTIME_DIR=$place/session run_start serve config.yaml --listen "unix:$place/home/elsewhere.sock"
	run_wait_for "serving at unix:$place/home/elsewhere.sock" 120
	found_from_everywhere
	stop_found

	# Its tokens are those of its own directory, which is another one.
	run_start serve config.yaml --state "$place/home/other"
	run_wait_for "serving at unix:$place/home/.local/state/virtbed/controller.sock" 120
	found_from_everywhere
	"$virtbed" token create --user nobody 2>"$BATS_TEST_TMPDIR/token-words"
	[ "$("$virtbed" token list --json | jq '.tokens | length')" = 1 ]
	[ -s "$place/home/other/tokens.json" ]
	[ "$("$virtbed" token list --json --state "$place/home/.local/state/virtbed" | jq '.tokens[0].id')" != \
		"$("$virtbed" token list --json --run "$place/home/other" | jq '.tokens[0].id')" ]
	[ "$("$virtbed" token list --uri "unix:$place/home/.local/state/virtbed/controller.sock" | wc -l)" = \
		"$("$virtbed" token list | wc -l)" ]
	VIRTBED_URI=http://127.0.0.1:1 run -2 "$virtbed" token list
	[[ $output == *"name it there with --state"* ]]
	stop_found
}

stop_found() {
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
}

@test "a type without an estimate on a cluster is not placed there, and one without any is refused" {
	use_scripted
	sed -i 's/share: 0.6/share: 1/; s/share: 0.4/share: 0/
		/^types:/a\  - {name: IS.S.1, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 0}' "$config"
	run_write_estimates "$estimates"
	sed -i '/type: CG.S.2, cluster: c1/d' "$estimates"
	echo "unmeasured: [{type: CG.S.2, cluster: c1, reason: it hangs}]" >>"$estimates"
	serve
	ok POST /v1/tasks 400 '{"type": "IS.S.1"}' | grep -q "there is no estimate for type 'IS.S.1' on any cluster"
	for task in $(submit '{"type": "CG.S.2", "count": 3}' | jq '.[]'); do
		wait_state "$task" completed
		[ "$(ok GET "/v1/tasks/$task" 200 | jq -r .cluster)" = c2 ]
	done
	ok GET /v1/clusters 200 | jq -e '.clusters | map({(.cluster): .types}) | add | .c1 == ["IS.S.2"] and (.c2 | sort) == ["CG.S.2", "IS.S.2"]'
	[[ "$(run_query "$state" "SELECT value FROM meta WHERE key = 'unmeasured'")" = *"'CG.S.2' on 'c1': it hangs"* ]]
}

has_completed() {
	ok GET '/v1/tasks?state=completed' 200 | jq -e --argjson count "$1" '.tasks | length == $count'
}

# What `show` says of each task, which is final, and what the account has: microjoules by task. shows_the_account
shows_the_account() {
	local uri=unix:$socket

	ok GET '/v1/tasks?limit=10000' 200 >shown
	jq -e 'all(.tasks[]; .energy_kind == "final")' shown >/dev/null || return 1
	jq -c '[.tasks[] | {key: (.task | tostring), value: (.energy_j * 1e6 | round)} | select(.value > 0)] | from_entries' shown >by_show
	"$virtbed" energy --by task --json --uri "$uri" |
		jq -c '[.sums[] | {key: .task, value: .tasks_uj} | select(.value > 0)] | from_entries' >by_account
	jq -e --slurpfile account by_account '. == $account[0] and length > 0' by_show >/dev/null
}

# At least COUNT of the tasks of a type are completed. completed_of TYPE COUNT
completed_of() {
	api GET '/v1/tasks?limit=10000' | jq -e --arg type "$1" --argjson count "$2" \
		'[.tasks[] | select(.type == $type and .state == "completed")] | length >= $count' >/dev/null
}

energy_grows() {
	ok GET "/v1/tasks/$1" 200 | jq -e '.energy_j > 0 and .energy_kind == "provisional"'
}

@test "what show says of a task is what the account of energy has, to the microjoule" {
	run_name=ledger-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	[ "$(submit '{"type": "LONG"}')" = "[0]" ]
	[ "$(submit '{"type": "SHORT", "count": 30}' | jq length)" = 30 ]
	within 60 completed_of SHORT 1
	# Of a task that runs, its energy grows.
	wait_state 0 running
	within 60 energy_grows 0
	# The controller dies while tasks end; their joules come with the reports that it missed.
	kill -KILL "$(run_process virtbed-controller "$state")"
	run_wait_for "serving at unix:$socket" 60 2
	within 120 completed_of SHORT 30
	ok POST /v1/tasks/0/cancel 202 '{}'
	within 60 shows_the_account || { cat by_show by_account; jq -c '.tasks[] | [.task, .state, .energy_j, .energy_kind]' shown; return 1; }
	"$virtbed" show 0 --uri "unix:$socket" | grep -E '^energy +[0-9]+\.[0-9]{6} J$'
	"$virtbed" energy --by task --uri "unix:$socket" # checks its sums
	stop_service
}

@test "a simulated cluster stands behind the real local scheduler, without root, image and VMs" {
	run_name=simulated-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	ok GET /v1/clusters 200 | jq -e '.clusters | length == 3 and all(.virt_type == "simulated" and .modelled_watts)'
	ok GET /v1/clusters 200 | jq -e '(.clusters | all(.watts_from == "simulation")) and (.notes | any(test("watts are simulated")) and
		(any(test("model")) | not))'
	curl -sf --unix-socket "$socket" http://x/metrics >metrics
	grep -q '^virtbed_host_power_watts{cluster="s1",host="s1-1",modelled="simulated"} ' metrics
	run ! grep 'modelled="true"' metrics
	[ "$(submit '{"type": "LONG", "count": 2}')" = "[0,1]" ]
	[ "$(submit '{"type": "SHORT", "count": 60}' | jq length)" = 60 ]
	wait_state 61 completed
	ok GET /v1/tasks/61 200 | jq -e '.executed_s > 0 and .executed_s <= .ended_s - .started_s'
	within 60 has_energy 61
	ok GET /v1/tasks/61/output 200 | jq -e '.output | test("nothing was computed")'
	wait_state 0 running
	ok POST /v1/tasks/0/suspend 202 '{}'
	wait_state 0 suspended
	ok POST /v1/tasks/0/resume 202 '{}'
	wait_state 0 running
	ok GET '/v1/events?after=0' 200 | jq -e '[.events[] | select(.task == 0) | .kind] ==
		["submitted", "launched", "suspend", "suspended", "resume", "resumed"]'
	# The controller dies: the clusters and their tasks run on.
	kill -KILL "$(run_process virtbed-controller "$state")"
	run_wait_for "serving at unix:$socket" 60 2
	wait_state 1 running
	within 60 has_completed 60
	"$virtbed" energy --uri "unix:$socket" | grep '^watts: simulated'
	# As a trace: 18 fields, and of what has not ended neither run time (4) nor status (11).
	[ "$(submit '{"type": "SHORT", "held": true}')" = "[62]" ]
	"$virtbed" report "$state" --format swf >trace.swf
	awk '/^;/ {next} NF != 18 || $1 != NR - comments || $12 != 1 {exit 1}
		$1 <= 2 && ($4 != -1 || $5 < 1 || $11 != -1) {exit 1}
		$1 > 2 && $1 <= 62 && ($2 < 0 || $3 < 0 || $4 < 1 || $5 != 1 || $11 != 1) {exit 1}
		$1 == 63 && ($3 != -1 || $4 != -1 || $5 != -1 || $11 != -1) {exit 1}
		END {if (NR - comments != 63) exit 1}' comments="$(grep -c '^;' trace.swf)" trace.swf || { cat trace.swf; return 1; }
	ok POST /v1/tasks/0/cancel 202 '{}'
	ok POST /v1/tasks/1/cancel 202 '{}'
	wait_state 0 killed
	wait_state 1 killed
	ok GET /v1/tasks/1 200 | jq -e '.attempts == 1'
	# What ended last, whatever its number, and how many more have.
	ok GET '/v1/tasks?ended=4' 200 | jq -e '.more == 58 and ([.tasks[].task] | length == 4 and (.[:2] | sort) == [0, 1]) and
		([.tasks[].ended_s] | . == (sort | reverse))'
	ok GET '/v1/tasks?ended=2&state=completed' 200 | jq -e '.more == 58 and (.tasks | all(.task > 1))'
	ok GET '/v1/tasks?ended=0' 400
	ok POST /v1/tasks/1/suspend 409 '{}'
	ok POST /v1/tasks/1/resume 409 '{}'
	ok POST /v1/tasks/1/migrate 409 '{}'
	stop_service
	"$virtbed" report "$state" --format swf | awk '/^[12] / && ($4 < 1 || $11 != 5) {exit 1}'
	"$virtbed" report "$state" | grep "easy .* 63 .* 60 .* open "
	"$virtbed" report "$state" --json | jq -e '.. | objects | select(has("tasks_arrived")) |
		.tasks_arrived == 63 and .tasks_completed == 60 and .ended_by == "open" and .utility == 60 and .limit_j == null'
	"$virtbed" report "$state" --format html --out page | grep index.html
	run -2 "$virtbed" compare "$state" "$state"
	[[ $output == *"is the directory of a service"* ]]
}

# What the local scheduler of CLUSTER answers. local_sched CLUSTER PATH [CURL-ARGUMENT...]
local_sched() {
	local listen
	listen=$(tr '\0' '\n' <"/proc/$(run_process virtbed-local-sched "$state/state/$1")/cmdline" | sed -n 's/^unix://p')
	curl -sS --max-time 60 --unix-socket "$listen" "http://x$2" "${@:3}"
}

is_down() {
	ok GET /v1/nodes 200 | jq -e --arg cluster "$1" '.nodes | map(select(.cluster == $cluster)) |
		length > 0 and all(.state == "down")' >/dev/null
}

# Serves configs/simulated.yaml, with what is given for sed. serve_simulated NAME [EXPRESSION]
serve_simulated() {
	run_name=$1-$BASHPID
	sed -e "s/^name:.*/name: $run_name/" -e "${2:-}" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	export VIRTBED_URI=unix:$socket
}

@test "what is tried first works: tasks, scripts and a limit of energy that holds" {
	serve_simulated first 's/# energy_/energy_/'
	echo 'echo hello' >job.sh
	[ "$("$virtbed" submit --script job.sh --time 1m --cores 2)" = 0 ]
	[ "$("$virtbed" submit --script job.sh --time 5m --nodes 4)" = 1 ]
	[ "$(submit '{"type": "SHORT", "count": 2}')" = "[2,3]" ]
	[ "$(submit '{"type": "LONG", "count": 8}')" = "[4,5,6,7,8,9,10,11]" ]
	wait_state 3 completed
	# It took what was estimated, and not a tenth of that; so does what runs, and the sum of it is within the limit.
	ok GET /v1/tasks/3 200 | jq -e '.executed_s > 0.9'
	wait_state 4 running
	ok GET /v1/energy 200 | jq -e '.window | .limit_j == 200000 and .holds and .refusals > 0'
	"$virtbed" energy | grep "by the estimates of what runs it holds until then"
	"$virtbed" queue | grep "energy: needs"
	stop_service
}

# page_commands PATTERN: the commands of a block of docs/how-to/service.md, on our directories
page_commands() {
	sed -n "/^    $1/,/^\$/p" "$BATS_TEST_DIRNAME/../../docs/how-to/service.md" | grep -v 'virtbed serve' |
		sed -e "s|/tmp/simulated-lab|$state|g" -e "s|/tmp/backup|$BATS_TEST_TMPDIR/backup|g"
}

@test "a backup that was taken of a service that runs is put back as docs/how-to/service.md says" {
	serve_simulated backup
	echo 'echo hello' >job.sh
	[ "$("$virtbed" submit --script job.sh --time 1m --cores 2 --hold)" = 0 ]
	[ "$("$virtbed" submit LONG)" = 1 ]
	wait_state 1 running
	"$virtbed" drain s3/3 --reason dust
	"$virtbed" token create --role viewer --state "$state" >token
	page_commands 'umask 077 .. mkdir .tmp.backup' >take
	page_commands 'mv .tmp.simulated-lab' >restore
	[ "$(wc -l <take)" -ge 4 ] && [ "$(wc -l <restore)" -ge 3 ]
	(sh -eu take)
	[ "$(sqlite3 backup/run.sqlite 'PRAGMA integrity_check')" = ok ]
	[ "$("$virtbed" submit SHORT)" = 2 ]
	wait_state 2 completed
	stop_service
	(sh -eu restore)
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	ok GET /v1/tasks 200 | jq -e '.tasks | length == 2 and .[0].held'
	wait_state 1 running
	"$virtbed" nodes --cluster s3 | grep 's3/3 .*drained'
	[ "$("$virtbed" token list --json | jq '.tokens | length')" = 1 ]
	# It is another task, and no result of the former one is taken for its own.
	[ "$("$virtbed" submit SHORT)" = 2 ]
	wait_state 2 completed
	ok GET /v1/tasks/2 200 | jq -e '.ended_s > .arrival_s'
	"$virtbed" release 0
	wait_state 0 running
	"$virtbed" energy | grep "the sums equal the meters"
	stop_service
}

# refused_as TEXT COMMAND...: exit status 1, and an error that says so.
refused_as() {
	local text=$1
	shift
	run -1 "$virtbed" "$@"
	[[ $output == *"$text"* ]] || { echo "$output"; return 1; }
}

@test "a key is for the same contents, whatever became of the tasks" {
	local same="other contents"
	serve_simulated key
	printf 'echo %s\n' hello >job.sh
	[ "$("$virtbed" submit SHORT --count 2 --key k --name n | xargs)" = "0 1" ]
	[ "$("$virtbed" submit LONG --hold --key held --deadline 1h)" = 2 ]
	[ "$("$virtbed" submit --script job.sh --time 1m --key script -- 7)" = 3 ]
	for turn in first restarted; do
		[ "$("$virtbed" submit SHORT --count 2 --key k --name n | xargs)" = "0 1" ]
		[ "$("$virtbed" submit LONG --hold --key held --deadline 1h)" = 2 ]
		[ "$("$virtbed" submit --script job.sh --time 1m --key script -- 7)" = 3 ]
		refused_as "key: 'k' was used for task 0 with $same (count)" submit SHORT --count 3 --key k --name n
		refused_as "$same (type, name, priority)" submit WIDE --count 2 --key k --priority -1
		refused_as "$same (held, utility_max)" submit SHORT --count 2 --key k --name n --hold --utility 2
		refused_as "task 2 with $same (deadline_s)" submit LONG --hold --key held --deadline 2h
		refused_as "$same (held, constant_s, zero_s, deadline_s)" submit LONG --key held --constant 1m --zero-at 1h
		refused_as "task 3 with $same (script)" submit --script job.sh --time 1m --key script -- 8
		cp job.sh kept
		echo 'echo more' >>job.sh
		refused_as "task 3 with $same (script)" submit --script job.sh --time 1m --key script -- 7
		mv kept job.sh
		[ $turn = first ] || break
		# What was asked for is what counts, not what it is now.
		"$virtbed" release 2
		"$virtbed" cancel 3
		wait_state 3 killed
		wait_state 1 completed
		kill -KILL "$(run_process virtbed-controller "$state")"
		run_wait_for "serving at unix:$socket" 60 2
	done
	ok POST /v1/tasks 409 '{"type": "SHORT", "key": "k"}' >refusal
	ok GET /v1/tasks 200 | jq -e '.tasks | length == 4'
	stop_service
}

refuse_queries() {
	local path
	for path in '/v1/status?after=1.5' '/v1/status?after=-1' '/v1/status?after=nan' '/v1/status?after=0x10' \
		'/v1/status?after=1&after=1' '/v1/status?befor=1' '/v1/runs?after=1' '/v1/tasks?after=1e3' '/v1/tasks?limit=0' \
		'/v1/tasks?ended=3&limit=x' '/v1/tasks?ended=5&limit=3' '/v1/tasks?ended=5&after=1' '/v1/tasks?state=' '/v1/tasks?user=' '/v1/tasks?ended=%2B3' '/v1/tasks/0?wait_s=1' '/v1/tasks/0/output?attempt=99' \
		'/v1/tasks/0/output?attempt=-1' '/v1/tasks/0/output?attempt=x' '/v1/tasks/0/output?from=1.0' \
		'/v1/tasks/0/output?wait_s=0.5' '/v1/events?after=1.5' '/v1/events?after=' '/v1/events?wait_s=nan' \
		'/v1/events?wait_s=-1' '/v1/events?wait_s=61' '/v1/power?after_s=inf' '/v1/utility?after_s=0x1p3' \
		'/v1/energy?by=user&by=task' '/v1/nodes?cluster=s1&cluster=s2' '/v1/clusters?x' '/openapi.json?a=1'; do
		ok GET "$path" 400 | jq -e '.error | startswith("query: ")' || { echo "$path"; return 1; }
	done
}

# A member of a request that has no meaning is refused.
refuse_bodies() {
	local path
	for path in tasks/0/{suspend,resume,cancel,hold,release} nodes/s2/0/undrain stop; do
		ok POST "/v1/$path" 400 '{"x": 1}' | grep "request body: this takes none" || { echo "$path"; return 1; }
	done
	ok POST /v1/nodes/s2/0/undrain 400 '{"reason": "x"}'
	ok GET /v1/tasks/0 200 | jq -e '.state == "running"'
}

refuse_notices() {
	local long body
	long=$(printf '%065d' 0)
	for body in '{"kind": "", "text": "t"}' '{"kind": "a\nb", "text": "t"}' '{"kind": "a b", "text": "t"}' \
		'{"kind": "a\u202eb", "text": "t"}' "{\"kind\": \"$long\", \"text\": \"t\"}" '{"kind": 7, "text": "t"}' \
		'{"kind": "a"}' '{"text": "t"}' '{"kind": "a", "text": ""}' '{"kind": "a", "text": "b\nc"}' \
		'{"kind": "a", "text": "\u001b[2J"}' '{"kind": "a", "text": "\u202e"}' '{"kind": "a", "text": "t", "task": 1}' \
		"{\"kind\": \"a\", \"text\": \"$(printf '%04097d' 0)\"}" '[]' 'null' '"a"'; do
		ok POST /v1/notices 400 "$body" || { echo "$body"; return 1; }
	done
	ok POST /v1/notices 201 '{"kind": "kind-of_7.test", "text": "said \u00e4 word"}'
	ok GET '/v1/status?after=0' 200 | jq -e '[.notices[] | select(.kind == "kind-of_7.test") | .text] == ["said \u00e4 word"]'
}

# What would change how the rest of a line reads is in no name and no reason.
refuse_what_is_not_shown() {
	local mark
	for mark in '\u202e' '\u2066' '\u200f' '\u061c' '\u0085' '\u009b' '\u001b' '\n'; do
		ok POST /v1/tasks 400 "{\"type\": \"SHORT\", \"name\": \"a${mark}b\"}" | grep "name: holds a control character"
		ok POST /v1/nodes/s2/0/drain 400 "{\"reason\": \"a${mark}b\"}" | grep "reason: holds a control character"
	done
	# What commands quote is shown.
	run -2 "$virtbed" queue --state $'a\u202eb\u009b'
	[[ $output == *"a\\u202eb\\x9b"* ]]
}

@test "people's orders take many tasks, say what became of each, and refuse what makes no sense" {
	serve_simulated orders
	[ "$(submit '{"type": "LONG", "count": 3}')" = "[0,1,2]" ]
	[ "$(submit '{"type": "SHORT", "count": 3, "held": true}')" = "[3,4,5]" ]
	for task in 0 1 2; do wait_state $task running; done
	[ "$("$virtbed" suspend 0,1-2 | xargs)" = "task 0 is suspended task 1 is suspended task 2 is suspended" ]
	[ "$("$virtbed" suspend 0 --json | jq .task)" = 0 ]
	[ "$("$virtbed" resume 0-1 2 --json | jq -c '[.tasks[].task]')" = "[0,1,2]" ]
	for task in 0 1 2; do wait_state $task running; done
	# A list stays one where it names one task, and a task that is named twice is asked once.
	[ "$("$virtbed" suspend 0-0 --json | jq -c '[.tasks[].task]')" = "[0]" ]
	[ "$("$virtbed" resume 0,0 0-1 --json --wait 0 2>/dev/null | jq -c '[.tasks[].task]')" = "[0]" ]
	wait_state 0 running
	# A task that cannot be suspended does not keep the others from it.
	refused_as "task 3 cannot be suspended" suspend 3,1
	[[ $output == *"task 1 is suspended"* ]]
	refused_as "task 0 cannot be resumed: it is not suspended" resume 0-1
	[[ $output == *"task 1 is running"* ]]
	run -2 "$virtbed" suspend 0 99
	[[ $output == *99*"task 0 is suspended"* ]]
	"$virtbed" resume 0

	[ "$("$virtbed" release 3 | xargs)" = "task 3 is released" ]
	wait_state 3 completed
	refused_as "task 3 cannot be released: it has ended" release 3
	refused_as "task 1 cannot be released: it is not held" release 1
	ok POST /v1/tasks/1/release 409 '{}' | jq -e '.refusal | startswith("not-held")'
	[ "$("$virtbed" hold 4-5 | xargs)" = "task 4 is held task 5 is held" ]
	refused_as "task 2 cannot be held" hold 2,4-5
	[[ $output == *"task 4 is held"*"task 5 is held"* ]]
	[ "$("$virtbed" hold 4 --json | jq -c '[.tasks[].task]')" = "[4]" ]
	refused_as "task 3 cannot be cancelled" cancel 3-5,4
	[ "$(grep -c "task 4 is" <<<"$output")" = 1 ]
	[[ $output == *"task 4 is cancelled"*"task 5 is cancelled"* ]]
	for words in 0,x 0, ,1 5-3; do
		run -2 "$virtbed" suspend $words
		[[ $output == *"\"$words\" names no task"* ]]
	done

	[ "$("$virtbed" drain s1/0-15 s3/0-3 --reason test | wc -l)" = 20 ]
	[ "$(submit '{"type": "LONG", "count": 2}')" = "[6,7]" ]
	wait_state 6 running
	wait_state 7 running
	[ "$("$virtbed" migrate 6,7 --to s2-right --json | jq -c '[.tasks[].task]')" = "[6,7]" ]
	refused_as "task 4 cannot be migrated" migrate 4,6 --to s2-left

	# Where one of some words is wanted, those are told.
	run -2 "$virtbed" queue --state nope
	[[ $output == *"'nope' is not one of waiting, planned, claimed, queued, starting, running, "*", killed, "* ]]
	ok POST /v1/tasks 400 '{"tpye": "SHORT"}' | grep "unknown key 'tpye'; known: type, count, name, key, held, "
	ok POST /v1/tasks 400 '{"time_s": 9, "script": {"programme": "x"}}' | grep "unknown key 'programme'; known: "
	run -2 "$virtbed" nodes --cluster nope
	[[ $output == *"virtbed clusters"* ]]
	ok POST /v1/nodes/s2/0/drain 400 '{}' | grep "reason: missing"
	run -2 "$virtbed" drain s2/0
	ok GET '/v1/nodes?cluster=s2' 200 | jq -e '[.nodes[] | select(.state == "drained" or .state == "draining")] == []'
	ok POST /v1/nodes/s2/0/drain 400 '{"reason": "x", "raeson": "y"}' | grep "unknown key 'raeson'; known: reason"
	ok POST /v1/tasks/6/migrate 400 '{"to": ["s2-left"], "from": ["s2-right"]}' | grep "nothing else"
	refuse_queries
	refuse_bodies
	refuse_notices
	refuse_what_is_not_shown
	"$virtbed" cancel 0-2 6,7
	stop_service
}

@test "output that one cluster has is had, while another that may have it is away" {
	run_name=output-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	for node in s2/{0..7} s3/{0..3}; do ok POST "/v1/nodes/$node/drain" 202 '{"reason": "test"}'; done
	[ "$(submit '{"type": "SHORT", "count": 2}')" = "[0,1]" ]
	wait_state 0 completed
	wait_state 1 completed
	ok GET /v1/tasks/1 200 | jq -e '.cluster == "s1" and .attempts == 1'
	# An attempt of the same name on s3, as after a loss of power that took its start from the record.
	id=$(local_sched s1 /v1/tasks | jq -r '.tasks[].id | select(endswith("-1-1"))')
	local_sched s3 "/v1/tasks/$id" -f -X PUT -d '{"type": "SHORT", "benchmark": "is", "class": "S", "ranks": 1,
		"repetitions": 1, "nodes": [0], "deadline_s": 60}'
	stopped=$(run_process virtbed-local-sched "$state/state/s1")
	kill -STOP "$stopped"
	within 60 is_down s1
	ok GET /v1/tasks/1/output 200 >/dev/null
	ok GET /v1/tasks/0/output 503 | jq -e '.error | test("of cluster .s1., which may have it, does not answer")'
	kill -CONT "$stopped"
	stop_service
}

# Whether PATTERN... (grep -E) each match a line of FILE. has_lines FILE PATTERN...
has_lines() {
	local pattern
	for pattern in "${@:2}"; do
		grep -qE -- "$pattern" "$1" || { echo "$1 lacks: $pattern"; cat "$1"; return 1; }
	done
}

# A request with the tag of the nodes, left in `tag`, is answered that they are the same; `nodes` has them.
nodes_are_as_they_were() {
	tag=$(curl -sS -D - -o nodes --unix-socket "$socket" http://x/v1/nodes | tr -d '\r' | sed -n 's/^ETag: //p')
	[ "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" -H "If-None-Match: $tag" http://x/v1/nodes)" = 304 ]
}

# A list has TASK as its own answer has it, except for its expected end, which may move meanwhile, and for what it has
# used while it is under way.
is_listed_as_it_is() {
	ok GET "/v1/tasks?limit=1&after=$(($1 - 1))" 200 >listed
	ok GET "/v1/tasks/$1" 200 | jq -e --slurpfile listed listed '. as $it | $listed[0].tasks[0] |
		del(.expected_end_s) | if .ended_s == null then del(.energy_j, .energy_kind) else . end |
		.task == $it.task and (to_entries | all($it[.key] == .value))'
}

@test "the page of a service shows what runs and its window, on a phone, in the dark, to a keyboard and to a screen reader" {
	local docs=$BATS_TEST_DIRNAME/../../docs/reference page tag
	run_name=simulated-page-$BASHPID
	sed -e "s/^name:.*/name: $run_name/" -e 's/# energy_limit_j: .*/energy_limit_j: 5000000/' \
		-e 's/# energy_window_s: .*/energy_window_s: 86400/' "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	echo '  listen: http://127.0.0.1:0' >>"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words")
	export VIRTBED_URI=unix:$socket
	(umask 077 && "$virtbed" token create --state "$state" --role viewer --user nobody >token 2>words)
	# However many wait before them, those that run are shown, and how many are not.
	"$virtbed" submit SHORT --count 1100 --hold >/dev/null
	[ "$(submit '{"type": "LONG", "count": 3}')" = "[1100,1101,1102]" ]
	[ "$(submit '{"type": "SHORT"}')" = "[1103]" ]
	for task in 1100 1101 1102; do wait_state $task running; done
	wait_state 1103 completed
	"$virtbed" top --once >top
	[ "$(grep -cE '^110[012] .* running ' top)" = 3 ]
	grep -qx '+ 900 more tasks; virtbed queue lists all' top
	ok GET '/v1/tasks?state=waiting&limit=200' 200 | jq -e '.more == 900 and (.tasks | length == 200)'
	# A client that has seen the nodes gets them again when one has changed.
	within 60 nodes_are_as_they_were
	jq -e '.nodes | length == 28' nodes
	ok POST /v1/nodes/s1/15/drain 202 '{"reason": "fan"}'
	[ "$(curl -s -o nodes -w '%{http_code}' --unix-socket "$socket" -H "If-None-Match: $tag" http://x/v1/nodes)" = 200 ]
	jq -e '[.nodes[] | select(.reason == "fan") | .name] == ["s1-n15"]' nodes
	ok GET '/v1/nodes?cluster=s1' 200 | jq -e '.nodes | length == 16 and .[15].state == "drained"'

	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"contrast=4.5" "type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelectorAll('#active .state[data-state=running]').length === 3" \
		"until=document.querySelector('#active-more').innerText.startsWith('900 more')" \
		"until=/used [1-9].*limit 5 MJ/.test(document.querySelector('#energy svg[role=img]').getAttribute('aria-label'))" \
		"until=document.querySelectorAll('#power .curve').length > 1 && document.querySelector('#ended tr') && document.querySelector('#events a')" \
		"print=document.querySelector('#energy .limit').getAttribute('d')" "contrast=4.5" "tree=" >overview 2>&1 \
		"view=dark,phone" "print=\`dark on \${getComputedStyle(document.body).backgroundColor}\`" "contrast=4.5" \
		"until=document.documentElement.scrollWidth <= innerWidth" \
		"view=dark" "print='-- tabs'" "tabs=" \
		"go=#task/1100" "until=document.documentElement.dataset.ready === 'task/1100'" \
		"until=document.querySelector('#task-gantt rect') && document.querySelector('#task-decisions tr')" "contrast=4.5" \
		"print='-- task'" "tree=" "tabs=" "view=phone" "contrast=4.5" \
		"until=document.documentElement.scrollWidth <= innerWidth" || { cat overview; return 1; }
	sed '/^-- tabs$/,$d' overview >tree
	sed '1,/^-- tabs$/d; /^-- task$/,$d' overview >tabs
	sed '1,/^-- task$/d' overview >task
	has_lines tree '^M.*L' '^main: ' '^status: ' '^region: Clusters and nodes' '^region: Queue and running tasks' \
		'^list: Nodes of s1' '^listitem: ' '^columnheader: Progress' '^progressbar: Progress of task 1100' \
		'^progressbar: Energy limit, share of the limit' '^(image|img): Power of each host over time. Now: s1' \
		'^table: Queue and running tasks' '^table: Ended lately' '^table: Events' \
		'^(image|img): Energy above idle over time' '^(image|img): Utility earned over time' '^log: Events' \
		'^combobox: Show the last' '^dark on rgb\(16, 22, 28\)'
	has_lines tabs 'Skip to the content' '^# a virtbed' '^#clusters a 1100' '^#active a 1100' '^#window select' \
		'^#power summary' '^#energy summary' '^#utility summary' '^#ended a 1103' '^#events a ' 'API$' '^#forget button'
	has_lines task '^heading: Task 1100' '^(image|img): Where task 1100 was over time' '^table: Where task 1100 was' \
		'^region: Decisions about it' '^table: Decisions about it' \
		'^columnheader: Reason' '^region: Events of it' '← all tasks'

	# A client that has seen a task in a list gets it again when it has changed.
	is_listed_as_it_is 3
	ok POST /v1/tasks/3/hold 202 '{}'
	ok POST /v1/tasks/3/cancel 202 '{}'
	is_listed_as_it_is 3
	is_listed_as_it_is 1100
	ok POST /v1/tasks/1100/suspend 202 '{}'
	wait_state 1100 suspended
	is_listed_as_it_is 1100
	ok POST /v1/tasks/1100/resume 202 '{}'
	wait_state 1100 running
	is_listed_as_it_is 1100

	# Another user sees that something runs, and whose; there is nothing to go to, and nothing there.
	(umask 077 && "$virtbed" token create --state "$state" --user nobody >token 2>words)
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelectorAll('#active .state[data-state=running]').length === 3" \
		"until=document.querySelectorAll('#events tr').length && document.querySelectorAll('.node[data-state=busy]').length" \
		"until=[...document.querySelectorAll('#ended tr')].some((line) => line.children[0].innerText === '3' && line.children[4].innerText === '–')" \
		"print=document.querySelectorAll('#active a, #ended a, #events a, #clusters a').length" \
		"print=document.querySelector('#active tr').innerText" \
		"go=#task/1100" "until=document.documentElement.dataset.ready === 'task/1100'" \
		"print=document.querySelector('#task').innerText" >overview 2>&1 || { cat overview; return 1; }
	has_lines overview '^0$' "1100.*LONG .$(id -un)’s.*running" '^Task 1100 is none of yours'
	run ! grep -E '(Queue|Arrived|Decisions)' overview

	# The metrics for Prometheus and Grafana are there, and all of them are documented.
	curl -sf --unix-socket "$socket" http://x/metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort >families
	grep -q virtbed_window_limit_joules families
	grep -oE '\b(virtbed|process)_[a-z_]+' "$docs/grafana.json" | sort -u >drawn
	grep -oE '`(virtbed|process)_[a-z_]+`' "$docs/metrics.md" | tr -d '`' | sort -u >documented
	diff /dev/null <(comm -23 drawn families)
	diff documented families
	stop_service
}

@test "the page of a large lab asks for nodes of the clusters that are opened, and for no others" {
	local page
	run_name=simulated-large-$BASHPID
	sed -e "s/^name:.*/name: $run_name/" -e 's/nodes: 16/nodes: 200/; s/nodes: 8/nodes: 208/; s/nodes: 4/nodes: 204/' "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	echo '  listen: http://127.0.0.1:0' >>"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words")
	(umask 077 && "$virtbed" token create --state "$state" --role viewer --user nobody >token 2>words)
	ok GET '/v1/nodes?cluster=s3,s2' 200 | jq -e '[.nodes[].name] | length == 412 and .[0] == "s2-n0" and .[411] == "s3-n203"'
	ok GET '/v1/nodes?cluster=s3,s4' 404
	ok GET '/v1/nodes?cluster=' 404
	ok GET /v1/nodes 200 | jq -e '.nodes | length == 612'
	ok GET /v1/clusters 200 | jq -e '[.clusters[].nodes] == [200, 208, 204]'
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelector('#clusters h3').innerText.includes('of 200 busy')" \
		"print=document.querySelectorAll('.node').length" \
		"print=document.querySelectorAll('#clusters details')[1].querySelector('summary').focus()" "key=Enter" \
		"until=document.querySelectorAll('.node').length === 208" "contrast=4.5" "tree=" \
		"print=document.querySelectorAll('#clusters details')[1].querySelector('summary').click()" \
		"until=document.querySelectorAll('.node').length === 0" \
		"print=performance.getEntriesByType('resource').some((entry) => entry.name.endsWith('v1/nodes')) ? 'all' : 'some'" \
		>overview 2>&1 || { cat overview; return 1; }
	has_lines overview '^0$' '^list: Nodes of s2' '^listitem: ' '^some$'
	ok POST /v1/nodes/s1/199/drain 202 '{"reason": "fan"}'
	ok GET /v1/clusters 200 | jq -e '.clusters[0].drained == 1'
	stop_service
}

# What the clusters, `virtbed clusters` and /metrics count of nodes adds up to their number.
every_node_is_counted_once() {
	ok GET /v1/clusters 200 | jq -e '.clusters | all(.nodes == .idle + .busy + .down + .drained + .draining)'
	curl -sf --unix-socket "$socket" http://x/metrics | awk '/^virtbed_nodes\{/ {sum += $2} END {exit sum != '"$1"'}'
}

# Until it is killed: events, one after the other.
notice_on() {
	while curl -sf -o /dev/null --unix-socket "$socket" http://x/v1/notices -d '{"kind": "test", "text": "again"}'; do :; done
}

# Run by the page: its clock stops, of what it asks for the status takes 100 ms, and since then `asked` has when.
page_slows_down="(() => {
	const [wait, fetch] = [setTimeout, window.fetch];
	window.setTimeout = (f, ms) => f.name === 'followClock' ? window.asked = [] : wait(f, ms);
	window.fetch = async (url, ...options) => {
		if (!String(url).includes('v1/status')) return fetch(url, ...options);
		window.asked?.push(performance.now());
		await new Promise((done) => wait(done, 100));
		return fetch(url, ...options);
	};
})()"

@test "a page that events make ask rests nine times as long as the answers took" {
	local page notices
	run_name=simulated-paced-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	echo '  listen: http://127.0.0.1:0' >>"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words")
	(umask 077 && "$virtbed" token create --state "$state" --role viewer --user nobody >token 2>words)
	notice_on 3>&- &
	notices=$!
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"print=$page_slows_down" "until=window.asked?.length > 5" \
		"print=JSON.stringify(asked.slice(1).map((time, i) => time - asked[i]))" >paced 2>&1 || { cat paced; return 1; }
	kill "$notices"
	cat paced
	tail -n 1 paced | jq -e 'length > 4 and min > 950'
	stop_service
}

# Run by the page: the answer to its next request for the status comes late, and it sends that request now.
page_is_refused_late="(() => {
	const { fetch } = window;
	window.fetch = async (url, ...options) => {
		const answer = await fetch(url, ...options);
		if (!String(url).includes('v1/status')) return answer;
		window.fetch = fetch;
		await new Promise((done) => { document.addEventListener('submit', () => setTimeout(done, 100)); });
		return answer;
	};
	dispatchEvent(new Event('resize'));
})()"

@test "a token that is typed while an answer to a request without one is on its way is taken" {
	local page
	run_name=simulated-typed-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	echo '  listen: http://127.0.0.1:0' >>"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words")
	(umask 077 && "$virtbed" token create --state "$state" --role viewer --user nobody >token 2>words)
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"print=$page_is_refused_late" "type=token" "key=Enter" \
		"until=document.documentElement.dataset.ready" "print=document.documentElement.dataset.ready" \
		>typed 2>&1 || { cat typed; return 1; }
	cat typed
	[ "$(tail -n 1 typed)" = overview ]
	stop_service
}

# What the columns of `queue` say of TASK: STATE WAITED TIME LEFT. shown TASK
shown() {
	"$virtbed" queue "$1" --uri "unix:$socket" | awk 'NR == 3 {print $5, $6, $7, $8}'
}

# What task 0 has by now, the UTC of the run's second 0 by each time that is told, and whether they are the same.
zeros='[to_entries[] | select(.key | endswith("_utc")) | select(.value) | .key] as $keys | . as $it |
	[$keys[] | ($it[.] | sub("[.][0-9]+"; "") | fromdate) - $it[sub("_utc$"; "_s")]] | (max - min) < 1.1 and length'

@test "what is shown of a task that stands still and of a task that waits again: its times, in UTC too, and all its places" {
	local page before
	run_name=simulated-times-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	echo '  listen: http://127.0.0.1:0' >>"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	[ "$(submit '{"type": "LONG"}')" = "[0]" ]
	wait_state 0 running
	ok GET /v1/tasks/0 200 | jq -e '.since_s != null and .left_s == null and .expected_end_s > .now_s'
	within 20 later_than "$(ok GET /v1/tasks/0 200 | jq .since_s)"
	ok POST /v1/tasks/0/suspend 202 '{}'
	wait_state 0 suspended
	# Suspended, its time run and its time left stand still, while the clock runs.
	ok GET /v1/tasks/0 200 >first
	jq -e '.since_s == null and .expected_end_s == null and .executed_s > 2 and .left_s > 300' first
	jq -e "$zeros" first
	before=$(shown 0)
	[[ $before =~ ^suspended\ [0-9:]+\ [0-9:]+\ [0-9]:?[0-9:]+$ ]]
	within 20 later_than "$(jq .now_s first)"
	[ "$(shown 0)" = "$before" ]
	ok GET /v1/tasks/0 200 | jq -e --slurpfile first first '[.executed_s, .left_s, .waited_s] == ($first[0] | [.executed_s, .left_s, .waited_s])'
	"$virtbed" show 0 --uri "unix:$socket" >told
	has_lines told '^arrived .* s  20..-..-..T..:..:..[.0-9]*Z$' '^started .* s  20' '^executed +[0-9:]+$' '^left .*, which stands still$' \
		'^its VMs +[0-9.]+ s  20..-..-..T.*Z  started '
	"$virtbed" explain 0 --uri "unix:$socket" >told
	has_lines told '^TIME S  UTC ' '^ +[0-9.]+  20..-..-..T..:..:..Z '
	ok POST /v1/tasks/0/resume 202 '{}'
	wait_state 0 running
	# It is lost with all that ran, and waits and starts again: what it waited is of both, and so are its places.
	stop_service
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	within 60 has_attempts 0 2
	wait_state 0 running
	ok GET /v1/tasks/0 200 >second
	jq -e '[.places[] | [.attempt, .how]] == [[1, "started"], [1, "resumed"], [1, "lost"], [2, "started"]] and
		([.suspended[] | .attempt] == [1]) and .suspended[0].to_s != null' second
	jq -e '.places as $p | (.waited_s - (($p[0].since_s - .arrival_s) + ($p[3].since_s - $p[2].since_s)) | fabs) < 0.001' second
	"$virtbed" show 0 --uri "unix:$socket" >told
	has_lines told '^its VMs +attempt 1 .* started ' '^ +attempt 1 .* lost ' '^ +attempt 2 .* started '
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words" | tail -n 1)
	(umask 077 && "$virtbed" token create --state "$state" --role operator --user nobody >token 2>words)
	ok POST /v1/tasks/0/suspend 202 '{}'
	wait_state 0 suspended
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelector('#active').innerText.includes('left, stands still')" \
		"go=#task/0" "until=document.documentElement.dataset.ready === 'task/0'" \
		"until=document.querySelector('#task-decisions tr')" \
		"print=[...document.querySelectorAll('#task-gantt tbody tr')].map((line) => line.innerText).join('\\n')" \
		"print=document.querySelector('#task-facts').innerText" "print=document.querySelector('#task-decisions').innerText" \
		>overview 2>&1 || { cat overview; return 1; }
	has_lines overview '^waiting\s+queue\s.*20..-..-.. ..:..:.. UTC' '^started\s+s1-1\s.*20..-..-.. ..:..:.. UTC' '^at .*, 20..-..-.. ..:..:.. UTC$' 'left, stands still' '[0-9 ms]+\s+20..-..-.. ..:..:.. UTC\s'
	stop_service
	[ "$(run_query "$state" "SELECT count(*) FROM lost_attempt WHERE task = 0 AND attempt = 1")" -eq 1 ]
}

has_attempts() {
	[ "$(api GET "/v1/tasks/$1" | jq .attempts)" = "$2" ]
}

# The run's clock is two seconds beyond TIME. later_than TIME
later_than() {
	api GET /v1/tasks/0 | jq -e --argjson from "$1" '.now_s > $from + 2' >/dev/null
}

@test "a node that drains is counted once, by the API, by Prometheus and on the page" {
	local page
	run_name=simulated-drains-$BASHPID
	sed "s/^name:.*/name: $run_name/" "$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	echo '  listen: http://127.0.0.1:0' >>"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words")
	(umask 077 && "$virtbed" token create --state "$state" --role viewer --user nobody >token 2>words)
	[ "$(submit '{"type": "LONG"}')" = "[0]" ]
	wait_state 0 running
	node=$(ok GET /v1/tasks/0 200 | jq -r '"\(.cluster)/\(.nodes[0])"')
	ok POST "/v1/nodes/$node/drain" 202 '{"reason": "fan"}' | jq -e '.state == "draining"'
	ok POST /v1/nodes/s1/15/drain 202 '{"reason": "fan"}' | jq -e '.state == "drained"'
	every_node_is_counted_once 28
	ok GET /v1/clusters 200 | jq -e '[.clusters[] | .drained] == [1, 0, 0] and ([.clusters[] | .draining] | add) == 1'
	"$virtbed" clusters --uri "unix:$socket" | awk 'NR == 1 {exit !/ DRAINING /}'
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelector('#clusters').innerText.includes('1 drained')" \
		"print=document.querySelector('#clusters').innerText" >overview 2>&1 || { cat overview; return 1; }
	has_lines overview '1 drained' '1 draining'
	stop_service
}

@test "a script has whole nodes, as many as it asks for, wherever it goes" {
	run_name=simulated-nodes-$BASHPID
	sed "s/^name:.*/name: $run_name/; s/^types:/&\n\
  - {name: one, benchmark: script, cores: 2, memory_mib: 64, share: 0, time_s: 6000}\n\
  - {name: long-six, benchmark: script, nodes: 6, memory_mib: 64, share: 0, time_s: 9000}\n\
  - {name: six, benchmark: script, nodes: 6, memory_mib: 64, share: 0, time_s: 6000}\n\
  - {name: ten, benchmark: script, nodes: 10, memory_mib: 64, share: 0, time_s: 6000}\n\
  - {name: any, benchmark: script, nodes: 2, nodes_max: 4, memory_mib: 64, share: 0, time_s: 6000}/" \
		"$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	export VIRTBED_URI=unix:$socket
	ok GET /v1/clusters 200 | jq -e '[.clusters[] | .types | contains(["six"])] == [true, true, false]'
	echo 'echo' >job.sh
	# The first cluster has room for ten and six nodes, the second for six more.
	[ "$("$virtbed" submit --script job.sh --time 1h --nodes 10)" = 0 ]
	[ "$("$virtbed" submit --script job.sh --time 1h -N 6)" = 1 ]
	[ "$("$virtbed" submit --script job.sh --time 1h --nodes 6)" = 2 ]
	[ "$("$virtbed" submit --script job.sh --time 1h --cores 2)" = 3 ]
	for task in 0 1 2 3; do wait_state $task running; done
	ok GET /v1/tasks 200 | jq -e '[.tasks[] | .type] == ["ten", "six", "six", "one"] and
		([.tasks[] | .nodes | length] | .[:3]) == [10, 6, 6] and ([.tasks[1, 2] | .cluster] | sort) == ["s1", "s2"]'
	"$virtbed" queue | grep -E '\bten\b'
	"$virtbed" show 1 | grep six
	run -2 "$virtbed" submit --script job.sh --time 1h --nodes 17
	[[ $output == *"nodes: no cluster has 17 nodes; the largest has 16"* ]]
	run -2 "$virtbed" submit --script job.sh --time 1h --nodes 5
	known="one (2 cores, 6000 s), long-six (6 nodes, 9000 s), six (6 nodes, 6000 s), ten (10 nodes, 6000 s), any.2 to any.4 (2 to 4 nodes, 6000 s)"
	[[ $output == *"no type for scripts has 5 nodes for 3600 s; known: $known"* ]]
	run -2 "$virtbed" submit XX
	[[ $output == *"type: unknown type 'XX'; known: $known, SHORT, WIDE, LONG"* ]]
	ok POST /v1/tasks 400 '{"script": {}, "time_s": 5, "nodes": 6, "cores": 2}' | grep "leave out cores"
	ok POST /v1/tasks 400 '{"script": {}, "time_s": 5, "nodes": 0}' | grep "nodes: 0 is not a number from 1"
	ok POST /v1/tasks 400 '{"script": {}, "time_s": 5, "cores": 1.5}' | grep "cores: 1.5 is not a number from 1"
	ok POST /v1/tasks 400 '{"type": "SHORT", "count": 9007199254740993}' | grep "count: .* is not a number from 1"
	ok POST /v1/tasks 400 '{"type": "SHORT", "count": 99999999999999999999}' | grep "not valid JSON: too big integer"
	ok POST /v1/tasks 400 '{"type": "SHORT", "utility_max": 1e999}' | grep "not valid JSON: real number overflow"
	ok POST /v1/tasks 400 '{"type": "SHORT", "count": "2"}' | grep "count: not a number"
	ok POST /v1/tasks 400 '{"type": "six", "nodes": 6}' | grep "leave them out"
	ok GET /v1/tasks 200 | jq -e '.tasks | length == 4'
	# One line of the configuration has a type of each number of nodes.
	[ "$("$virtbed" submit --script job.sh --time 1h --nodes 3)" = 4 ]
	wait_state 4 running
	ok GET /v1/tasks/4 200 | jq -e '.type == "any.3" and (.nodes | length) == 3'
	"$virtbed" cancel 0-4
	for task in 0 1 2 3 4; do wait_state $task killed; done
	# Nothing came out, and nothing failed.
	"$virtbed" output 0 --files here
	stop_service
}

@test "tasks are submitted once, run, held, cancelled, and explained; nodes are drained" {
	use_scripted
	sed -i 's/repetitions: 10/repetitions: 600/' "$config" # the task is looked at while it runs
	serve
	[ "$(submit '{"type": "IS.S.2", "count": 4, "key": "a", "name": "four"}')" = "[0,1,2,3]" ]
	[ "$(submit '{"type": "IS.S.2", "count": 4, "key": "a", "name": "four"}')" = "[0,1,2,3]" ]
	[ "$(submit '{"type": "CG.S.2", "held": true}')" = "[4]" ]
	for wrong in '{"type": "XX"}' '{}' '[]' '{"type": "IS.S.2", "count": 0}' '{"type": "IS.S.2", "rubbish": 1}' \
		'{"type": "IS.S.2", "constant_s": 5}' '{"type": "IS.S.2", "utility_max": -1}' 'rubbish' \
		'{"type": "IS.S.2", "deadline_s": 5, "zero_s": 6}' '{"type": "IS.S.2", "name": "a\nb"}'; do
		ok POST /v1/tasks 400 "$wrong"
	done
	ok POST /v1/tasks 400 '{"type": "XX"}' | grep "known: IS.S.2, CG.S.2"
	ok GET /v1/tasks 200 | jq -e --arg user "$(id -un)" \
		'.now_s > 0 and (.tasks | length == 5 and all(.user == $user) and .[0].name == "four" and .[4].held)'
	ok GET '/v1/tasks?state=waiting,planned&after=3' 200 | jq -e '[.tasks[].task] == [4]'
	ok GET '/v1/tasks?state=rubbish' 400
	ok GET '/v1/tasks?state=coming' 400
	ok GET /v1/tasks/4 200 | jq -e '.state == "waiting" and (.why | test("h[eo]ld"))'
	run -1 "$virtbed" migrate 4 --to nowhere --uri "unix:$socket"
	[[ $output == *"task 4 cannot be migrated: it waits, and has no VMs yet"* ]]
	for task in 0 1 2 3; do wait_state $task completed; done
	ok GET /v1/tasks/0 200 | jq -e '.utility == 1 and .ended_s > .started_s and (.nodes | length > 0)'
	within 60 has_energy 0
	ok GET /v1/tasks/0/decisions 200 | jq -e '.task == 0 and (.decisions | length > 0 and all(.action.task == 0))'
	ok GET /v1/tasks/0/output 200 | jq -e '.task == 0 and .attempt == 1 and has("output")'
	ok GET /v1/tasks/4/output 404
	ok POST /v1/tasks/0/cancel 409 '{}'
	ok POST /v1/tasks/99/cancel 404 '{}'
	# A node that is drained gets nothing new; all of both clusters: nothing starts.
	for node in c1/0 c1/1 c1/2 c1/3 c2/0 c2/1; do
		ok POST "/v1/nodes/$node/drain" 202 '{"reason": "disk"}' |
			jq -e '(.state == "drained" or .state == "draining") and .reason == "disk"'
	done
	ok POST /v1/nodes/c1/9/drain 404 '{}'
	# By the command all or none.
	run -2 "$virtbed" undrain c1/0 c1/2-9 c3/1 --uri "unix:$socket"
	[[ $output == *"there is no node c1/4, c1/5, c1/6 and 4 more: nothing was done"* && ${#lines[@]} -eq 1 ]]
	ok GET /v1/nodes 200 | jq -e '.nodes | all(.state == "drained" or .state == "draining")'
	"$virtbed" drain c1/0-3 c2/0-1 --reason disk --uri "unix:$socket" | grep -c ' is drain' | grep -x 6
	ok GET '/v1/status?after=x' 400
	ok GET '/v1/status?after=-1' 400
	ok GET '/v1/status?after=0' 200 | jq -e '.phase'
	ok POST /v1/tasks/4/release 202 '{}'
	[ "$(submit '{"type": "IS.S.2", "deadline_s": 600}')" = "[5]" ]
	ok POST /v1/tasks/5/hold 202 '{}' | jq -e .held
	ok POST /v1/tasks/5/cancel 202 '{}' | jq -e '.state == "killed"'
	ok GET /v1/tasks/4 200 | jq -e '.state == "waiting" and (.why != null)'
	ok POST /v1/nodes/c1/0/undrain 202 '{}' | jq -e '.state == "idle" or .state == "busy"'
	ok POST /v1/nodes/c1/1/undrain 202 '{}'
	wait_state 4 running
	ok GET /v1/tasks/4 200 | jq -e '.cluster == "c1" and .nodes == [0, 1]'
	ok POST /v1/tasks/4/cancel 202 '{}'
	wait_state 4 killed
	ok GET /v1/status 200 | jq -e '.completed == 4 and .waiting == 0 and .running == 0'
	# A client that follows the events learns all of that, of an array at once.
	ok GET '/v1/events?after=0' 200 | jq -e --arg user "$(id -un)" '[.events[] | select(.kind == "submitted") |
		[.task, .detail.count, .detail.type, .detail.user, .detail.held]] == [[0, 4, "IS.S.2", $user, false],
		[4, 1, "CG.S.2", $user, true], [5, 1, "IS.S.2", $user, false]] and
		([.events[] | select(.kind == "ended") | [.task, .detail.state]] | sort) ==
		[[0, "completed"], [1, "completed"], [2, "completed"], [3, "completed"], [4, "killed"], [5, "killed"]] and
		[.events[] | select(.detail.user == $user and .kind != "submitted" and .task != null) | [.kind, .task]] ==
		[["released", 4], ["held", 5], ["cancel", 5], ["cancel", 4]] and
		([.events[] | select(.detail.user == $user and .task == null) | .kind] | group_by(.) | map([.[0], length])) ==
		[["drained", 6], ["undrained", 2]]'
	for what in hold release suspend resume; do ok POST /v1/tasks/4/$what 409 '{}'; done
	ok POST /v1/tasks/99/hold 404 '{}'
	ok POST /v1/nodes/none/0/undrain 404 '{}'
	ok POST /v1/nodes/c1/0/drain 400 '{"reason": 5}'
	stop_service
	[ "$(run_query "$state" "SELECT count(*) FROM run WHERE ended_by IS NULL")" -eq 1 ]
	[ "$(run_query "$state" "SELECT count(*) FROM drain")" -eq 4 ]
	[ "$(run_query "$state" "SELECT count(*) FROM submission WHERE cancelled")" -eq 2 ]
	run_assert_decisions_of_service
	# As if the clock had been an hour slow when the service first began: what happened now is told so.
	sqlite3 "$state/run.sqlite" \
		"UPDATE run SET started_utc = strftime('%Y-%m-%dT%H:%M:%SZ', started_utc, '-1 hour')"
	serve
	ok GET '/v1/events?after=0' 200 | jq -e '.events | length > 10 and
		all(.utc | sub("[.][0-9]+"; "") | now - fromdate | . > -1 and . < 1800)'
	stop_service
}

@test "an output of several pieces is printed whole, and the page says that it shows the first" {
	local page
	use_scripted
	sed -i "s|^service: {|&listen: 'http://127.0.0.1:0', |" "$config"
	export VIRTBED_OUTPUT=$BATS_TEST_TMPDIR/long
	seq 200000 >"$VIRTBED_OUTPUT"
	serve
	[ "$(submit '{"type": "IS.S.2"}')" = "[0]" ]
	wait_state 0 completed
	ok GET /v1/tasks/0/output 200 | jq -e '.next == 524288 and (.ended | not)'
	"$virtbed" output 0 --uri "unix:$socket" | cmp - "$VIRTBED_OUTPUT"
	"$virtbed" output 0 --json --uri "unix:$socket" >whole
	jq -j .output whole | cmp - "$VIRTBED_OUTPUT"
	jq -e --argjson size "$(stat -c %s "$VIRTBED_OUTPUT")" '.from == 0 and .next == $size and .ended and .attempt == 1' whole
	page=$(sed -n "s|.*the controller's page is at ||p" "$run_words")
	(umask 077 && "$virtbed" token create --state "$state" --role operator >token 2>words)
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"go=#task/0" "until=document.documentElement.dataset.ready === 'task/0'" \
		"print=document.querySelector('#task-output-section').innerText.slice(0, 200)" >overview 2>&1 || { cat overview; return 1; }
	has_lines overview '^This is the beginning, 512 KiB; virtbed output 0 prints all of it'
	seq 10 >"$VIRTBED_OUTPUT"
	"$BATS_TEST_DIRNAME/browser.py" "$page" "until=document.documentElement.dataset.ready === 'token'" \
		"type=token" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"go=#task/0" "until=document.documentElement.dataset.ready === 'task/0'" \
		"print=document.querySelector('#task-output-section').innerText" >overview 2>&1 || { cat overview; return 1; }
	run ! grep 'the beginning' overview
	stop_service
}

@test "a higher priority goes first, whenever it came, and does so after a restart" {
	use_scripted
	serve
	for node in c1/0 c1/1 c1/2 c1/3 c2/0 c2/1; do ok POST "/v1/nodes/$node/drain" 202 '{"reason": "test"}'; done
	[ "$("$virtbed" submit CG.S.2 --priority -5 --uri "unix:$socket")" = 0 ]
	[ "$(submit '{"type": "CG.S.2"}')" = "[1]" ]
	run ! grep PRIO <<<"$("$virtbed" queue 1 --uri "unix:$socket")"
	[ "$("$virtbed" submit CG.S.2 --priority 5 --uri "unix:$socket")" = 2 ]
	for wrong in 1.5 '"high"' 1000001; do
		ok POST /v1/tasks 400 "{\"type\": \"CG.S.2\", \"priority\": $wrong}" | grep priority
	done
	"$virtbed" queue --uri "unix:$socket" | grep PRIO
	ok GET /v1/tasks 200 | jq -e '[.tasks[].priority] == [-5, 0, 5]'
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "the service continues" 120
	for node in c1/0 c1/1; do ok POST "/v1/nodes/$node/undrain" 202 '{}'; done
	for task in 0 1 2; do wait_state $task completed; done
	ok GET /v1/tasks 200 | jq -e '[.tasks | sort_by(.started_s)[].task] == [2, 1, 0]'
	stop_service
	run_assert_decisions_of_service
}

# What was decided can be decided again, from the store.
run_assert_decisions_of_service() {
	run_query "$state" "SELECT snapshot FROM decision ORDER BY id LIMIT 1" | "$virtbed" decide --json - | jq -cS . >decided
	run_query "$state" "SELECT actions FROM decision ORDER BY id LIMIT 1" | jq -cS . >stored
	diff stored decided
}

@test "whichever process is killed: no task is lost, none runs twice, and answers are kept" {
	use_scripted
	# Half a minute, so that it still runs when all is stopped; and four seconds.
	sed -i '/CG.S.2/s/repetitions: 10/repetitions: 60/; /IS.S.2/s/repetitions: 5/repetitions: 10/' "$config"
	serve
	for node in c2/0 c2/1 c1/2 c1/3; do ok POST "/v1/nodes/$node/drain" 202 '{"reason": "test"}'; done
	[ "$(submit '{"type": "IS.S.2"}')" = "[0]" ]
	[ "$(submit '{"type": "CG.S.2", "count": 2, "key": "b"}')" = "[1,2]" ]
	[ "$(submit '{"type": "IS.S.2", "held": true}')" = "[3]" ]
	wait_state 0 running
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "controller died .signal 9" 120
	run_wait_for "the service continues" 120
	[ "$(submit '{"type": "CG.S.2", "count": 2, "key": "b"}')" = "[1,2]" ]
	wait_state 0 completed
	wait_state 1 running
	within 30 has_used 1
	ok GET /v1/tasks/0 200 | jq -e '.attempts == 1'
	# In order: running tasks begin again at the next start, waiting ones wait, held ones are held.
	stop_service
	[ "$(run_query "$state" "SELECT state FROM task WHERE task = 1")" = unfinished ]
	sed -i '/CG.S.2/s/repetitions: 60/repetitions: 10/' "$config"
	serve
	grep -q "continues at .* with 4 tasks" "$run_words"
	ok GET /v1/tasks/3 200 | jq -e '.held and .state == "waiting"'
	[ "$(submit '{"type": "CG.S.2", "count": 2, "key": "b"}')" = "[1,2]" ]
	wait_state 2 completed
	ok GET /v1/tasks/1 200 | jq -e '.state == "completed" and .attempts == 2'
	ok GET /v1/tasks/0 200 | jq -e '.state == "completed" and .attempts == 1 and .user != null'
	ok POST /v1/nodes/c2/0/undrain 202 '{}'
	# What they used before whatever died is theirs still, and of everything the sums are the meters'.
	assert_energy 0 1 2
	stop_service
	assert_account
	[ "$(run_query "$state" "SELECT count(DISTINCT attempt) FROM energy_part WHERE task = 1")" -eq 2 ]
	[ "$(run_query "$state" "SELECT count(*) FROM run")" -eq 1 ]
	[ "$(run_query "$state" "SELECT count(*) FROM drain")" -eq 3 ]
	# The same directory is no other configuration's.
	sed -i 's/^name: .*/name: other/' "$config"
	run "$virtbed" serve "$config" --state "$state" --listen "unix:$socket"
	[ "$status" -eq 2 ]
	[[ $output == *"is the state of service"* ]]
}
