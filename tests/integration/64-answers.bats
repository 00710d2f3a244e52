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
	run_end_all "$run_name"
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

@test "a command waits for an answer as long as it is told to" {
	run -2 env VIRTBED_TIMEOUT=soon "$virtbed" queue --uri unix:/nowhere
	[[ $output == *'VIRTBED_TIMEOUT: "soon" is no time'* ]]
}
