#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# `virtbed compare --attribute` and its page, of runs that were measured with local schedulers that have no VMs.

bats_require_minimum_version 1.5.0

load run

setup() {
	run_set_up_scripted
}

teardown() {
	run_tear_down_scripted
}

# Measures two policies with estimates of a half of what tasks take, and simulates the same.
make_runs() {
	sed -i 's/etc_s: 2,/etc_s: 1,/; s/etc_s: 4,/etc_s: 2,/' "$estimates"
	run_start run "$config" --estimates "$estimates" --policy easy,max-upr --limit 1 --out "$out"
	run_wait
	[ "$run_status" -eq 0 ]
	"$virtbed" simulate "$out/config.yaml" --policy easy,max-upr --limit 1 --trials 3 --out "$out-sim" >/dev/null
}

@test "execution times that are twice the estimates are blamed, in words, JSON and on the page" {
	make_runs
	run --separate-stderr "$virtbed" compare "$out" "$out-sim" --attribute
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"Why measured and simulated differ: utility"* ]]
	[[ "$output" == *"Why measured and simulated differ: energy J"* ]]
	[[ "$output" == *"Why measured and simulated differ: tasks completed"* ]]
	[[ "$output" == *"Why measured and simulated differ: rank"* ]]
	grep -qE "^easy at 100 % earned [0-9.]+ % less than simulated; .*because tasks took (1.9|2.0)[0-9] times" <<<"$output"
	[[ "$stderr" != *attributing* ]] # progress is for terminals
	"$virtbed" compare "$out" "$out-sim" --attribute --jobs 1 --json >one.json
	"$virtbed" compare "$out" "$out-sim" --attribute --jobs 2 --json >two.json
	cmp one.json two.json
	# The parts add up, and execution times come first; launches and moments are on record.
	jq -e '.attribution | .exact and .moments_known and (.cells | length == 2) and .orders == 0 and
		([.causes[] | select(. == "execution_times")] | length == 1) and
		([.cells[] | (.utility, .energy_j, .completed, .rank) | select(.) |
			(.gap.value - .simulated_again - .remains.value - ([.parts[].value] | add)) |
			fabs < 1e-9] | all) and
		([.cells[] | .utility.first == "execution_times" and .utility.simulated_again == 0] | all)' one.json
	"$virtbed" compare "$out-sim" "$out" --attribute --json | cmp - one.json
	command -v gnuplot >/dev/null || skip "no gnuplot"
	"$virtbed" report "$out" "$out-sim" --attribute --format html --out page
	grep -q 'section id="causes"' page/index.html
	grep -q 'figure id="causes-100"' page/index.html
	grep -q "because tasks took" page/index.html
	[ -s page/plots/causes-100.csv ]
	"$virtbed" report "$out" "$out-sim" --format html --out plain
	! grep -q 'id="causes"' plain/index.html
}

@test "what cannot be attributed is refused, and says why" {
	make_runs
	run "$virtbed" compare "$out" "$out" --attribute
	[ "$status" -eq 2 ]
	[[ "$output" == *"--attribute: only the difference between a measured and a simulated directory"* ]]
	sed 's/nodes: 4/nodes: 3/' "$out/config.yaml" >other.yaml
	"$virtbed" simulate other.yaml --policy easy,max-upr --limit 1 --trials 1 --out other >/dev/null
	run "$virtbed" compare "$out" other --attribute
	[ "$status" -eq 2 ]
	[[ "$output" == *"have other clusters or types of tasks"* ]]
	rm "$out/config.yaml"
	run "$virtbed" compare "$out" "$out-sim" --attribute
	[ "$status" -eq 2 ]
	[[ "$output" == *"--attribute: "*"config.yaml"* ]]
	run "$virtbed" report "$out" "$out-sim" --attribute
	[ "$status" -eq 2 ]
	[[ "$output" == *"--attribute is for the formats png, svg, pdf and html"* ]]
	run "$virtbed" report "$out" --attribute --format html
	[ "$status" -eq 2 ]
	[[ "$output" == *"--attribute: give a measured and a simulated run directory"* ]]
}
