#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A service whose policy is a program that hangs, dies, forks, eats memory and answers rubbish in one event of two
# (tests/policy/hostile.py), for VIRTBED_HOSTILE_S seconds.

bats_require_minimum_version 1.5.0
load lab
load run
load service

# The service answers on its API, and the time that takes is added to the file "answers" in ms. ask_status
ask_status() {
	api GET /v1/status >/dev/null
	[ "$(cat "$BATS_TEST_TMPDIR/status")" = 200 ]
	curl -sS -o /dev/null --max-time 60 --unix-socket "$socket" -w '%{time_total}\n' http://x/v1/status >>answers
}

# The reasons of fallbacks, counted by their first word.
reasons() {
	run_query "$state" "SELECT detail FROM event WHERE kind = 'fallback'" | jq -r '.reason | split(":")[0]' | sort | uniq -c
}

@test "a program that does harm delays no service, starts nothing illegal and leaves no process" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	[ "$(id -u)" -eq 0 ] || skip "the sandbox has another user for root alone"
	local length=${VIRTBED_HOSTILE_S:-180} asked=0 end
	place=$(mktemp -d)
	echo "$place" >"$BATS_TEST_TMPDIR/place"
	chmod 755 "$place"
	cp "$BATS_TEST_DIRNAME/../policy/hostile.py" "$place"
	cp -r "$BATS_TEST_DIRNAME/../../controller/plugin/python/virtbed" "$place"
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	sed -i "s|^workload:|service: {mapping_interval_s: 0.5, policy: 'exec:/usr/bin/python3 $place/hostile.py'}\nplugin: {deadline_s: 2}\n&|" "$config"
	serve
	end=$((SECONDS + length))
	while [ $SECONDS -lt $end ]; do
		submit '{"type": "IS.S.2", "count": 2}' >>submitted
		wait_state "$asked" completed
		wait_state $((asked + 1)) completed
		asked=$((asked + 2))
		ask_status
		# Three failures in a row disable the program; after a reload it is asked again.
		[ $((asked % 10)) -ne 0 ] || kill -HUP "$run_pid"
	done
	grep -ho 'hostile: .*' "$state/logs/controller.log" | sort | uniq -c
	reasons
	echo "slowest answer: $(sort -g answers | tail -1) s of $(wc -l <answers)"
	[ "$(reasons | wc -l)" -gt 0 ]
	# What was stored is what the rules allow, event by event.
	stop_service
	within 30 nothing_left
	# Each task was executed once.
	run_query "$state" "SELECT * FROM lost_attempt"
	run_query "$state" "SELECT task, state, attempts FROM task WHERE state <> 'completed' OR attempts > 1"
	[ "$(run_query "$state" "SELECT count(*) FROM task WHERE state <> 'completed' OR attempts > 1")" -eq 0 ]
	touch "$place/hostile.py.good"
	"$virtbed" rerun "$state" | tee reran
	grep "all as stored" reran
}

# No process of the program is left.
nothing_left() {
	! pgrep -f "$place/hostile.py"
}
