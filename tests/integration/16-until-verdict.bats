#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed run --until-verdict`, with local schedulers that have no VMs.

load run

setup() {
	run_set_up_scripted
}

teardown() {
	run_tear_down_scripted
}

# Two pairs, of which one is a control; short runs. add_verdict FILE
add_verdict() {
	sed -i 's/duration_s: 12/duration_s: 6/; s/duration_s: 8/duration_s: 5/' "$1"
	cat >>"$1" <<-END
		verdict:
		  pairs: [{policies: [easy, max-upr], limits: [0.6]}]
		  controls: [{policies: [max-upr, easy], limits: [1]}]
	END
}

@test "runs until a verdict: killed in the middle they continue with the same choices" {
	local ran="SELECT policy || limit_fraction || ':' || repeat FROM run"
	add_verdict "$config"
	run_start run "$config" --estimates "$estimates" --until-verdict --repeat 4 --out "$out"
	run_wait_row "$out" "SELECT run FROM run WHERE run = 3"
	run_kill_all
	wait "$run_pid" || true
	[ "$(run_query "$out" "SELECT count(*) FROM run WHERE ended_by IS NOT NULL")" -eq 2 ]
	# Pairs are fixed beforehand, and so is that runs are chosen.
	sed 's/limits: \[0.6\]}/limits: [0.6, 1]}/; /controls:/d' "$config" >other.yaml
	run "$virtbed" run other.yaml --out "$out" --resume
	[ "$status" -eq 2 ]
	[[ "$output" == *"were fixed when these runs began"* ]]
	run_start run "$config" --out "$out" --resume --json
	run_wait
	[ "$run_status" -eq 0 ]
	# Each cell of a pair once, in order; the interrupted one again; then the pair alone, side by side.
	[ "$(run_query "$out" "$ran WHERE ended_by != 'aborted' ORDER BY run LIMIT 6" | xargs)" = \
		"easy1.0:1 max-upr1.0:1 easy0.6:1 max-upr0.6:1 easy0.6:2 max-upr0.6:2" ]
	[ "$(run_query "$out" "$ran WHERE limit_fraction = 1 AND repeat > 1")" = "" ]
	[ "$(run_query "$out" "SELECT count(*) - count(DISTINCT run) FROM event WHERE kind = 'chosen'")" -eq 0 ]
	[ "$(run_query "$out" "SELECT count(*) FROM run WHERE run NOT IN
		(SELECT run FROM event WHERE kind = 'chosen')")" -eq 0 ]
	jq -e '.verdict | .ended == "decided" and .runs_full_design == 16 and .control_differs == false and
		(.pairs | length) == 2 and .pairs[0].state != "open"' "$run_results"
	grep -q "until the verdict: no further run is wanted" "$run_words"
	# Nothing is left to do; more repeats may be.
	run "$virtbed" run "$config" --out "$out" --resume
	[ "$status" -eq 0 ]
	[[ "$output" == *"nothing is left to do"*"Until the verdict: utilities, pair by pair"* ]]
	"$virtbed" simulate "$out/config.yaml" --estimates "$estimates" --out "$out-sim" >/dev/null
	# Two differences that are far apart give the pair up without an interval, so that it has no basis.
	"$virtbed" compare "$out" "$out-sim" --json | jq -e '(.pairs | length) == 1 and
		.pairs[0].measured.from == (if .pairs[0].measured.low then "verdict" else "none" end) and
		(.pairs[0].measured.low != null or .measured.verdict.pairs[0].state == "too noisy") and
		.measured.verdict.runs >= 6'
}

@test "the hours of a verdict end it, and runs that were not begun so cannot become it" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "slow: ./testbed check --long"
	add_verdict "$config"
	run_start run "$config" --estimates "$estimates" --until-verdict --most 0.007 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	grep -q "until the verdict: the hours are over after" "$run_words"
	[ "$(run_query "$out" "SELECT value FROM meta WHERE key = 'verdict_end'" | jq -r .why)" = hours ]
	[ "$(run_query "$out" "SELECT count(*) FROM run")" -lt 4 ]
	run_start run "$config" --estimates "$estimates" --policy easy --limit 1 --out "$out-fixed"
	run_wait
	run "$virtbed" run "$config" --out "$out-fixed" --resume --until-verdict
	[ "$status" -eq 2 ]
	[[ "$output" == *"were not chosen until a verdict from the first one on"* ]]
	run "$virtbed" run "$config" --estimates "$estimates" --until-verdict --policy easy --out "$out-none"
	[ "$status" -eq 2 ]
	[[ "$output" == *"'max-upr' is none of the policies of this run"* ]]
	run "$virtbed" run "$config" --estimates "$estimates" --until-verdict --repeat 1 --out "$out-none"
	[ "$status" -eq 2 ]
	[[ "$output" == *"one repeat decides nothing"* ]]
	run "$virtbed" run "$config" --estimates "$estimates" --most 1 --out "$out-none"
	[ "$status" -eq 2 ]
	[[ "$output" == *"--most: only with --until-verdict"* ]]
}
