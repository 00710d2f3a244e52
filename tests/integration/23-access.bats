#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What users may do with a controller that is reached over TCP: tokens and their roles, from the commands and from the
# outside. With local schedulers that have no VMs.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	document=$BATS_TEST_DIRNAME/../../docs/reference/controller-api.json
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 077
	unset VIRTBED_TOKEN_FILE VIRTBED_URI VIRTBED_CA_FILE
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
}

teardown() {
	run_end_all "$run_name"
}

# Serves at $socket and at $address. serve [KEYS of the service]
serve() {
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	sed -i "s|^workload:|service: {mapping_interval_s: 60, listen: 'http://127.0.0.1:0', ${1:-tasks_max: 1000}}\\n&|" "$config"
	run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	address=$(sed -n "s|.*the controller's page is at \(https*://[0-9.:]*\)/.*|\1|p" "$run_words" | head -n 1)
	[ -n "$address" ]
}

# token FILE OPTION...: a new one in FILE
token() {
	local file=$1
	shift
	"$virtbed" token create --state "$state" "$@" >"$file" 2>>tokens.log
	grep -Eq '^vbt_[A-Za-z0-9_-]{43}$' "$file"
}

# status FILE METHOD PATH: of the answer to the user of the token in FILE
status() {
	curl -sS -o answer -w '%{http_code}' -X "$2" -H "Authorization: Bearer $(cat "$1")" "$address$3"
}

is_not_good() {
	[ "$(status "$1" GET /v1/status)" = 401 ]
}

# What a request that waits is answered when its token is revoked meanwhile: 401, and nothing of what happens then.
is_cut_off() {
	token short --user nobody
	exec 5<>"/dev/tcp/127.0.0.1/${address##*:}"
	printf 'GET /v1/events?after=1000000000&wait_s=60 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n' \
		"$(cat short)" >&5
	[ "$(status short GET /v1/status)" = 200 ]
	"$virtbed" token revoke --state "$state" "$("$virtbed" token list --json --state "$state" | jq -r '.tokens[-1].id')"
	curl -sSf --unix-socket "$socket" http://x/v1/notices -d '{"kind": "test", "text": "not for all"}'
	timeout 60 cat <&5 >polled
	exec 5>&-
	head -n 1 polled | grep -F "HTTP/1.1 401 " && ! grep -F "not for all" polled
}

@test "tokens are made, listed and revoked; their file gives them to no reader" {
	mkdir -m 700 "$state"
	token mine
	token theirs --role viewer --user nobody --expires never
	[ "$(stat -c %a "$state/tokens.json")" = 600 ]
	run ! grep -F -f mine "$state/tokens.json"
	[ "$(jq -r '.tokens[0].sha256' "$state/tokens.json")" = "$(tr -d '\n' <mine | sha256sum | cut -d' ' -f1)" ]
	"$virtbed" token list --state "$state" | tee listed
	grep -E "^[0-9a-f]{8} +user +$(id -un) " listed
	grep -E '^[0-9a-f]{8} +viewer +nobody .* never$' listed
	id=$("$virtbed" token list --json --state "$state" | jq -r '.tokens[1].id')
	"$virtbed" token revoke --state "$state" "$id"
	[ "$("$virtbed" token list --json --state "$state" | jq '.tokens | length')" -eq 1 ]
	run -2 "$virtbed" token revoke --state "$state" "$id"
	token third --role viewer --user nobody
	"$virtbed" token list --json --state "$state" | jq '.tokens[1]' >third.json
	"$virtbed" token revoke --json --state "$state" "$(jq -r .id third.json)" |
		jq -e --slurpfile third third.json '.tokens == $third'
	run -2 --separate-stderr "$virtbed" token revoke --json --state "$state" "$id"
	jq -e '.tokens == []' <<<"$output"
	run -0 --separate-stderr "$virtbed" token create --state "$state" --user root
	[[ $stderr == *"warning: it acts for root"*"--user NAME"* ]]
	[ "${#lines[@]}" -eq 1 ]
	run -0 --separate-stderr "$virtbed" token create --state "$state" --user nobody
	[[ $stderr != *warning* ]]
	run -2 "$virtbed" token create --state "$state" --role root
	[[ $output == *"--role: 'root' is not one of viewer, user, operator"* ]]
	run -2 "$virtbed" token create --state "$state" --expires yesterday
	run -2 "$virtbed" token create --state "$state" --user no-such-user-here
	run -2 "$virtbed" token
	run -1 "$virtbed" token list --state "$BATS_TEST_TMPDIR/none"
	# What root makes for a service of another user is that user's.
	if [ "$(id -u)" -eq 0 ]; then
		chown nobody "$state"
		token more
		[ "$(stat -c %U "$state/tokens.json")" = nobody ]
	fi
	chmod 644 "$state/tokens.json"
	run -1 "$virtbed" token list --state "$state"
	[[ $output == *"others can read"*"chmod 600"* ]]
}

@test "over TCP every endpoint asks for a token, and answers others nothing" {
	serve "user_requests_per_s: 100000"
	token viewer --role viewer --user nobody
	token user --user nobody
	token other --user daemon
	token operator --role operator
	token expired --role operator --expires 1s
	token revoked --role operator
	[ "$(status revoked GET /v1/status)" = 200 ]
	"$virtbed" token revoke --state "$state" "$("$virtbed" token list --json --state "$state" | jq -r '.tokens[-1].id')"
	is_not_good revoked
	within 20 is_not_good expired
	within 60 is_cut_off # another event may have been first
	# A task of the token's account, which is held so that it stays.
	[ "$(status user POST /v1/tasks)" = 400 ]
	curl -sSf -H "Authorization: Bearer $(cat user)" "$address/v1/tasks" -d '{"type": "IS.S.2", "held": true, "name": "secret"}' |
		jq -e '.tasks == [0]'
	curl -sSf -H "Authorization: Bearer $(cat viewer)" "$address/v1/tasks/0" | jq -e '.user == "nobody"'
	"$BATS_TEST_DIRNAME/check-access.py" "$address" "$document" viewer=viewer user=user other=other operator=operator \
		expired=expired revoked=revoked task=0 cluster=c1 node=0
	# And the answers of a service to users with the right role are those of the document.
	VIRTBED_TOKEN_FILE=operator "$BATS_TEST_DIRNAME/check-api.py" "$address" task=0 cluster=c1 node=0 >answers || {
		cat answers
		return 1
	}
	grep -qx "ok /v1/energy: 200" answers
	# Neither the log nor a list of processes has a token.
	run ! grep -rF -f user -f operator "$state"
	run ! grep -F -f user -f operator "$run_words"
	# A file that others can read makes no token good, until its mode is right again.
	chmod 640 "$state/tokens.json"
	is_not_good operator
	chmod 600 "$state/tokens.json"
	[ "$(status operator GET /v1/status)" = 200 ]
	head -c 100 "$state/tokens.json" >cut
	cp "$state/tokens.json" whole
	mv cut "$state/tokens.json"
	is_not_good operator
	mv whole "$state/tokens.json"
	[ "$(status operator GET /v1/status)" = 200 ]
}

# The answer to the user of the token in FILE. as FILE PATH
as() {
	curl -sSf -H "Authorization: Bearer $(cat "$1")" "$address$2"
}

has_failed() {
	[ "$(as user /v1/tasks/0 | jq -r .state)" = failed ]
}

is_told_why() {
	"$virtbed" show 0 --run "$state" | grep -E "^reason +ran longer than its deadline of 2 s$"
}

@test "its owner and the operator see how a task failed, other users do not" {
	run_name=failing-$BASHPID
	sed "s|^name:.*|name: $run_name|; s|task_deadline_s:.*|task_deadline_s: 2|; s|^service:|&\n  listen: 'http://127.0.0.1:0'|" \
		"$BATS_TEST_DIRNAME/../../configs/simulated.yaml" >"$config"
	unset VIRTBED_LIBEXEC
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	address=$(sed -n "s|.*the controller's page is at \(https*://[0-9.:]*\)/.*|\1|p" "$run_words" | head -n 1)
	token viewer --role viewer --user nobody
	token user --user nobody
	token other --user daemon
	token operator --role operator
	curl -sSf -H "Authorization: Bearer $(cat user)" "$address/v1/tasks" -d '{"type": "LONG", "name": "secret"}' | jq -e '.tasks == [0]'
	within 120 has_failed
	for asker in viewer user operator; do
		as $asker '/v1/events?after=0' | jq -e '.events[] | select(.kind == "ended") |
			.detail.reason == "ran longer than its deadline of 2 s" and .hidden == null'
	done
	as other '/v1/events?after=0' >answer
	jq -e '.events[] | select(.kind == "ended") | .task == 0 and .detail.state == "failed" and .hidden' answer
	run ! grep "deadline" answer
	# Texts of tasks are kept, whole and hidden ones: no user gets another's.
	for asker in operator other user other viewer; do
		as $asker /v1/tasks >answer
		if [ $asker = other ]; then
			jq -e '.tasks[0] | .state == "failed" and .hidden' answer
			run ! grep "secret\|deadline" answer
		else
			jq -e '.tasks[0] | .name == "secret" and .hidden == null and .reason == "ran longer than its deadline of 2 s"' answer
		fi
	done
	as other /v1/status >answer
	run ! grep "deadline" answer
	# Nor does a page tell it whose user's token is no longer good, when another one gives theirs.
	"$BATS_TEST_DIRNAME/browser.py" "$address/" "until=document.documentElement.dataset.ready === 'token'" \
		"type=user" "key=Enter" "until=document.querySelector('#events').innerText.includes('deadline of 2 s')" \
		"until=document.querySelector('#ended').innerText.includes('deadline of 2 s')" \
		"print=sessionStorage.setItem('virtbed-token', 'expired')" "until=document.documentElement.dataset.ready === 'token'" \
		"type=other" "key=Enter" "until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelector('#events tr') && document.querySelector('#ended tr')" \
		"print=document.querySelector('main').textContent" "print=document.querySelectorAll('#ended a, #events a').length" \
		>shown 2>&1 || { cat shown; return 1; }
	run ! grep "deadline of\|secret" shown
	[ "$(tail -n 1 shown)" = 0 ]
	# The commands tell it, too, and a controller that was started again.
	VIRTBED_TOKEN_FILE=$PWD/user "$virtbed" queue 0 --uri "$address" | grep -F "(ran longer than its deadline of 2 s)"
	kill -9 "$(run_process virtbed-controller "$state")"
	within 120 is_told_why
}

# A command without an address does not come to this service; there may be another one on this machine.
is_not_found() {
	"$virtbed" clusters --json >found 2>&1 || true
	! grep -F "$run_name" found
}

@test "commands take their token from a file that no other user reads" {
	serve
	run -1 "$virtbed" queue --uri "$address"
	[[ $output == *"wants a token"*"VIRTBED_TOKEN_FILE"* ]]
	token viewer --role viewer
	token user --user nobody
	VIRTBED_TOKEN_FILE=$PWD/viewer "$virtbed" queue --uri "$address"
	VIRTBED_TOKEN_FILE=$PWD/viewer run -1 "$virtbed" submit IS.S.2 --uri "$address"
	[[ $output == *"that is not for you to do"* ]]
	mkdir -p "$XDG_CONFIG_HOME/virtbed"
	cp user "$XDG_CONFIG_HOME/virtbed/token"
	[ "$("$virtbed" submit IS.S.2 --hold --uri "$address" | tail -n 1)" = 0 ] || "$virtbed" queue --uri "$address"
	"$virtbed" show 0 --json --uri "$address" | jq -e '.user == "nobody"'
	# Another's task is as a task that is not there.
	token other --user daemon
	for task in 0 99; do
		for command in show explain output cancel hold suspend; do
			VIRTBED_TOKEN_FILE=$PWD/other run -1 "$virtbed" $command $task --uri "$address"
			[ "$output" = "virtbed $command: you have no task '$task'; \`virtbed queue\` tells whose tasks are whose" ]
		done
	done
	VIRTBED_TOKEN_FILE=$PWD/other "$virtbed" queue --uri "$address" | grep "0 .* nobody"
	run -2 "$virtbed" show 99 --run "$state"
	[[ $output == *"there is no task '99'"* ]]
	run -1 "$virtbed" drain c1/0 --reason x --uri "$address"
	run -1 "$virtbed" submit IS.S.2 --priority 1 --uri "$address"
	[[ $output == *"priority: 1 is for an operator to give"* ]]
	"$virtbed" submit IS.S.2 --hold --priority -1 --uri "$address"
	"$virtbed" show 1 --uri "$address" | grep "priority *-1$"
	"$virtbed" cancel 0 --uri "$address"
	chmod 644 "$XDG_CONFIG_HOME/virtbed/token"
	run -2 "$virtbed" queue --uri "$address"
	[[ $output == *"others can read the token"*"chmod 600"* ]]
	chmod 600 "$XDG_CONFIG_HOME/virtbed/token"
	run -2 "$virtbed" queue --uri http://192.0.2.1:1
	[[ $output == *"\"http://192.0.2.1:1\": what is sent there could be read on its way"*"use https"* ]]
	# A directory that was left there does not say where a token goes, nor which the controller is.
	mkdir -p runs/left
	jq --arg api "$address" '.api = $api' "$state/plan.json" >runs/left/plan.json
	run -2 "$virtbed" queue --run runs/left
	[[ $output == *"api: \"$address\" is no socket"* ]]
	is_not_found
	cp "$state/plan.json" runs/left
	"$virtbed" clusters --json | jq -e --arg name "$run_name" '.name == $name'
	if [ "$(id -u)" -eq 0 ]; then
		chown nobody runs/left/plan.json
		is_not_found
	fi
	rm -r runs
	# On the socket the kernel tells, and no token is read.
	chmod 644 "$XDG_CONFIG_HOME/virtbed/token"
	"$virtbed" drain c1/0 --reason x --run "$state"
}

@test "no user takes more than a share" {
	serve "user_tasks_max: 3, user_requests_per_s: 2"
	token user --user nobody
	token other --user daemon
	token operator --role operator
	submit() { curl -sS -o answer -w '%{http_code}' -H "Authorization: Bearer $(cat "$1")" "$address/v1/tasks" -d "$2"; }
	[ "$(submit user '{"type": "IS.S.2", "held": true, "count": 3}')" = 201 ]
	[ "$(submit user '{"type": "IS.S.2"}')" = 409 ]
	grep "you have 3 tasks that have not ended, and may have 3" answer
	[ "$(submit other '{"type": "IS.S.2", "held": true}')" = 201 ]
	[ "$(submit operator '{"type": "IS.S.2", "held": true, "count": 5}')" = 201 ]
	"$virtbed" cancel 0 --run "$state"
	[ "$(submit user '{"type": "IS.S.2", "held": true}')" = 201 ]
	# 2 a second, 10 at once: soon one is too many, while others are answered, and commands ask again.
	many=0
	until [ "$(status user GET /v1/status)" = 429 ]; do many=$((many + 1)) && [ $many -lt 1000 ]; done
	grep -F '{"error":"too many requests; try again"}' answer
	[ "$(status other GET /v1/status)" = 200 ]
	VIRTBED_TOKEN_FILE=$PWD/user "$virtbed" queue --uri "$address"
	for i in $(seq 30); do "$virtbed" queue --run "$state" >/dev/null; done
}

@test "a client that sends nothing is hung up on" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes half a minute; set VIRTBED_LONG"
	serve
	exec 5<>"/dev/tcp/127.0.0.1/${address##*:}"
	printf 'GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ' >&5
	[ -z "$(timeout 60 cat <&5)" ]
	exec 5>&-
}
