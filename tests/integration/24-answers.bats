#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What answers is not always a controller: no command says done then.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset VIRTBED_TOKEN_FILE VIRTBED_URI VIRTBED_CA_FILE VIRTBED_TIMEOUT
}

teardown() {
	[ -z "${peer_pid:-}" ] || kill "$peer_pid"
}

@test "no command says done to an answer that no controller gives" {
	mkdir answers
	"$BATS_TEST_DIRNAME/check-answers.py" "$virtbed" "$PWD/answers"
}

@test "nothing goes to another machine in the clear" {
	address='"http://192.0.2.1:1": what is sent there could be read on its way'
	for command in queue 'show 5' 'hold 5' 'submit A' clusters nodes energy top; do
		run -2 "$virtbed" $command --uri http://192.0.2.1:1
		[[ $output == "virtbed ${command%% *}: "*"$address"* ]]
		VIRTBED_URI=http://192.0.2.1:1 run -2 "$virtbed" $command
		[[ $output == "virtbed ${command%% *}: "*"$address"* ]]
	done
	run -1 "$virtbed" nodes --at http://192.0.2.1:1
	[[ $output == *"$address"* ]]
	for at in 127.0.0.1@192.0.2.1 someone:secret@127.0.0.1 localhost.example.org 127.0.0.1.nip.io '[::ffff:10.0.0.1]'; do
		run -2 "$virtbed" queue --uri "http://$at:1/"
		[[ $output == "virtbed queue: address "* ]]
		[[ $output != *secret* ]]
	done
	run_write_config config.yaml
	for at in http://192.0.2.1:1 http://127.0.0.1@192.0.2.1:1; do
		sed "s|^  - name: c1|&\\n    local_scheduler: '$at'|" config.yaml >elsewhere.yaml
		grep -q "$at" elsewhere.yaml
		for command in 'config check' serve run nodes 'energy --live'; do
			run -2 "$virtbed" $command elsewhere.yaml
			[[ $output == *"clusters[0].local_scheduler: address \"http://192.0.2.1:1\""* ||
				$output == *"clusters[0].local_scheduler: address \"...@192.0.2.1:1\""* ]]
		done
	done
}

# Answers by the table on standard input: METHOD PATH STATUS JSON, a line each. The peer's address is in $address.
peer() {
	cat >table
	cat >peer.py <<'END'
import http.server
answers = {}
for line in open("table"):
    method, path, status, body = line.split(None, 3)
    answers[method, path] = int(status), body.encode()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = answers[self.command, self.path.split("?")[0]]
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", len(body))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *_):
        print(self.path, file=open("asked", "a"))
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
	python3 peer.py >port 3>&- &
	peer_pid=$!
	within 20 test -s port
	export VIRTBED_URI=http://127.0.0.1:$(cat port)
}

# task NUMBER STATE ATTEMPTS HELD
task() {
	printf '{"task": %s, "type": "A", "state": "%s", "attempts": %s, "held": %s, "reason": null}' "$@"
}

@test "output -f of a task whose output cannot be had says so and fails" {
	local gone='{"error": "it is gone"}'
	peer <<END
GET /v1/tasks/1 200 $(task 1 completed 1 false)
GET /v1/tasks/1/output 503 $gone
GET /v1/tasks/2 200 $(task 2 completed 2 false)
GET /v1/tasks/2/output 404 $gone
GET /v1/tasks/3 200 $(task 3 failed 1 false)
GET /v1/tasks/3/output 404 $gone
GET /v1/tasks/4 200 $(task 4 killed 0 false)
GET /v1/tasks/4/output 404 $gone
GET /v1/tasks/5 200 $(task 5 completed 1 false)
GET /v1/tasks/5/output 200 {"task": 5, "attempt": 1, "output": "all of it", "from": 0, "next": 9, "ended": true}
END
	for task in 1 2; do
		run -1 timeout 60 "$virtbed" output $task -f
		[ "$output" = "virtbed output: what task $task has printed cannot be had: it is gone" ]
	done
	run -1 timeout 60 "$virtbed" output 3 -f
	[ "$output" = "virtbed output: task 3 did not complete: failed; what it has printed cannot be had: it is gone" ]
	run -1 timeout 60 "$virtbed" output 4 -f
	[ "$output" = "virtbed output: task 4 did not complete: killed" ]
	run -0 timeout 60 "$virtbed" output 5 -f
	[ "$output" = "all of it" ]
}

@test "an answer about another task, or to another question, is none" {
	peer <<END
POST /v1/tasks/1/hold 202 $(task 1 waiting 0 true)
POST /v1/tasks/2/hold 202 $(task 2 waiting 0 false)
POST /v1/tasks/3/hold 202 $(task 4 waiting 0 true)
POST /v1/tasks/5/hold 200 $(task 5 waiting 0 true)
POST /v1/tasks/6/hold 409 {"error": "task 6 runs"}
POST /v1/tasks/1/release 202 $(task 1 waiting 0 true)
POST /v1/tasks 201 {"tasks": [7]}
GET /v1/nodes 200 {"nodes": [{"cluster": "c", "node": 0, "name": "n", "state": "idle"}]}
POST /v1/nodes/c/0/drain 202 {"cluster": "d", "node": 0, "name": "n", "state": "drained"}
END
	run -0 "$virtbed" hold 1
	[ "$output" = "task 1 is held" ]
	run -1 "$virtbed" hold 2
	[ "$output" = "virtbed hold: the controller does not say that task 2 is held" ]
	run -1 "$virtbed" release 1
	[ "$output" = "virtbed release: the controller does not say that task 1 is released" ]
	run -1 "$virtbed" hold 3
	[[ $output == *"asked about task 3 it answers about 4" ]]
	run -1 "$virtbed" hold 5
	[[ $output == *"status 200 instead of 202" ]]
	# After a refusal the next one is asked about; after what is no answer none is.
	run -1 "$virtbed" hold 6,1
	[ "$output" = "virtbed hold: task 6 runs"$'\n'"task 1 is held" ]
	run -1 "$virtbed" hold 3,1
	[ "${#lines[@]}" -eq 1 ]
	run -0 "$virtbed" submit A
	[ "$output" = 7 ]
	run -1 "$virtbed" submit A --count 2
	[[ $output == *"was handed 2 tasks and answers with 1 numbers" ]]
	run -1 "$virtbed" drain c/0 --reason x
	[[ $output == *"asked about cluster c it answers about d" ]]
}

@test "a command waits for an answer as long as it is told to" {
	run -2 env VIRTBED_TIMEOUT=soon "$virtbed" queue --uri unix:/nowhere
	[[ $output == *'VIRTBED_TIMEOUT: "soon" is no time'* ]]
	# A controller that waits for output does not take all of that time.
	local timeout
	peer <<END
GET /v1/tasks/1 200 $(task 1 running 1 false)
GET /v1/tasks/1/output 404 {"error": "it has not begun"}
END
	for timeout in 1:0 4:2 60:5; do
		rm -f asked
		VIRTBED_TIMEOUT=${timeout%:*} timeout 60 "$virtbed" output 1 -f 3>&- &
		within 20 grep -q "/output?.*&wait_s=${timeout#*:}\$" asked
		kill $!
		wait $! || true
	done
}
