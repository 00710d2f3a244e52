#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Studies: whichever way they are computed, the tables are the same to the last bit.
# VIRTBED_BUILD names the build directory.

bats_require_minimum_version 1.5.0

# A short day with few tasks.
setup_file() {
	export ROOT=$BATS_TEST_DIRNAME/../..
	export BUILD=${VIRTBED_BUILD:-$ROOT/build}
	export PATH=$BUILD/controller/cli:$PATH
	export CONFIG=$BATS_FILE_TMPDIR/small.yaml
	cat >"$CONFIG" <<-END
		name: small
		clusters:
		  - {name: g1, nodes: 20, cores: 16, memory_mib: 65536}
		  - {name: g2, nodes: 10, cores: 32, memory_mib: 65536}
		  - {name: s1, nodes: 20, cores: 16, memory_mib: 65536}
		environment: {tasks_per_day: 400, lead_s: 3600, special: [s1]}
		experiment:
		  policies: [easy+drop:0.5, max-upr+drop:0.5, max-upr+filter:resource:4+drop:0.5]
		  limits: [0.5, 1]
		  budget_j: 1e9
		  mapping_interval_s: 60
		  duration_s: 36000
		study: {trials: 12}
	END
	virtbed study "$CONFIG" --out "$BATS_FILE_TMPDIR/whole"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

same_as_whole() {
	cmp "$BATS_FILE_TMPDIR/whole/results.csv" "$1/results.csv"
	cmp "$BATS_FILE_TMPDIR/whole/summary.csv" "$1/summary.csv"
	cmp "$BATS_FILE_TMPDIR/whole/utility.csv" "$1/utility.csv"
	cmp "$BATS_FILE_TMPDIR/whole/energy.csv" "$1/energy.csv"
}

# Status 2 and one line on standard error that contains $1.
refused() {
	local words=$1
	shift
	run --separate-stderr "$@"
	[ "$status" -eq 2 ] || { echo "status $status: $stderr"; return 1; }
	[[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

@test "a study has a row for every trial, policy and limit, and figures" {
	[ "$(wc -l <"$BATS_FILE_TMPDIR/whole/results.csv")" -eq $((12 * 3 * 2 + 1)) ]
	for figure in utility energy; do
		[ "$(head -c 4 "$BATS_FILE_TMPDIR/whole/$figure.png" | tail -c 3)" = PNG ]
		grep -q '<svg' "$BATS_FILE_TMPDIR/whole/$figure.svg"
		[ "$(wc -l <"$BATS_FILE_TMPDIR/whole/$figure.csv")" -eq $((3 * 2 + 1)) ]
	done
}

@test "one thread finds what several find" {
	virtbed study "$CONFIG" --jobs 1 --out one
	same_as_whole one
}

@test "a study shows the policies asked for and nothing else" {
	# Among stored results of other policies, in the order asked for, and with a policy that is not configured.
	cp -r "$BATS_FILE_TMPDIR/whole" some
	virtbed study "$CONFIG" --trials 2 --policy random,easy+drop:0.5 --out some
	for table in some/results.csv some/summary.csv; do
		[ "$(tail -n +2 "$table" | cut -d, -f1 | sort -u | tr '\n' ' ')" = "easy+drop:0.5 random " ]
	done
	for figure in utility energy; do
		[ "$(tail -n +2 "some/$figure.csv" | cut -d, -f1 | uniq | tr '\n' ' ')" = '"random" "easy+drop:0.5" ' ]
		! grep -q max-upr "some/$figure.gp" || return 1
	done
	# What was there is still there.
	virtbed study "$CONFIG" --out some
	same_as_whole some
	sed 's/^study: .*/study: {x: drop, trials: 1}/; s/limits: .*/limits: [1]/' "$CONFIG" >drop.yaml
	refused 'policy "easy" has no modifier' virtbed study drop.yaml --policy easy --out drop
}

@test "axes have the units that fit" {
	grep -q "<text>energy, MJ<" "$BATS_FILE_TMPDIR/whole/energy.svg"
	grep -q "<text>energy constraint, MJ<" "$BATS_FILE_TMPDIR/whole/energy.svg"
}

@test "an interrupted study continues where it was" {
	virtbed study "$CONFIG" --jobs 1 --out part 2>message &
	local pid=$! deadline=$((SECONDS + 180))
	until [ "$(sqlite3 part/study.sqlite 'SELECT count(*) FROM result' 2>/dev/null || echo 0)" -gt 0 ]; do
		[ "$SECONDS" -lt "$deadline" ]
	done
	kill -INT "$pid"
	# It may have been faster than the signal.
	wait "$pid" || grep -q "interrupted; the results so far are in part" message
	virtbed study "$CONFIG" --out part
	same_as_whole part
}

@test "four shards are merged into the whole" {
	for k in 1 2 3 4; do
		virtbed study "$CONFIG" --shard "$k/4" --out "part$k"
	done
	virtbed study merge merged part4 part2 part1 part3
	same_as_whole merged
	# Again, beside what is there.
	virtbed study merge merged part1 part2 part3 part4
	# Some of them are no whole, and nothing is made of them unless that is wanted.
	refused "6 of 12 trials are missing or incomplete: 2, 4, 6, 8, 10, 12 (parts 2/4, 4/4); give those parts too" \
		virtbed study merge some part1 part3
	[ ! -e some ]
	run -0 --separate-stderr virtbed study merge some part1 part3 --partial
	[[ $stderr == *"warning: 6 of 12 trials are missing"*"(parts 2/4, 4/4)"* ]]
	refused "(part 4/4)" virtbed study merge some part2
	virtbed study merge some part2 part4
	same_as_whole some
	# The same results twice are no division.
	refused "part1: has results that part1 has too" virtbed study merge twice part1 part1
	refused "has results that part1 has too" virtbed study merge twice part1 "$BATS_FILE_TMPDIR/whole"
	# What is asked for counts, not what is configured.
	virtbed study "$CONFIG" --trials 2 --shard 1/2 --out short1
	virtbed study "$CONFIG" --trials 2 --shard 2/2 --out short2
	refused "1 of 2 trials are missing or incomplete: 2 (part 2/2)" virtbed study merge short short1
	virtbed study merge short short1 short2
	# A trial that lacks a policy is not whole.
	virtbed study "$CONFIG" --trials 2 --shard 2/2 --policy easy+drop:0.5 --out easy2
	refused "incomplete: 2;" virtbed study merge easy short1 easy2
	for option in "--trials 3" "--policy easy" --shard=1/2 "--seed 3" "--out x"; do
		refused "merge: ${option%%[ =]*} says what is computed" virtbed study merge merged part1 part2 $option
	done
	refused "--partial is for" virtbed study "$CONFIG" --partial
}

@test "what is another study is refused" {
	refused "holds another study" virtbed study "$CONFIG" --seed 7 --out "$BATS_FILE_TMPDIR/whole"
	virtbed study "$CONFIG" --seed 7 --trials 1 --out other
	refused "part of another study" virtbed study merge merged "$BATS_FILE_TMPDIR/whole" other
	refused "nothing" virtbed study merge merged nothing
}

@test "a study that makes no sense is refused with its key" {
	refused "--shard must be K/N" virtbed study "$CONFIG" --shard 5/4
	sed 's/^study: .*/study: {x: weight}/' "$CONFIG" >bad.yaml
	refused "study.x" virtbed study bad.yaml
	sed 's/^study: .*/study: {x: drop}/' "$CONFIG" >bad.yaml
	refused "study.x" virtbed study bad.yaml
	sed 's/^study: .*/study: {sizes: [0]}/' "$CONFIG" >bad.yaml
	refused "study.sizes[0]" virtbed study bad.yaml
	sed 's/^study: .*/study: {sizes: [0.5, 1]}/' "$CONFIG" >bad.yaml
	refused "study.x" virtbed study bad.yaml
	sed '/^clusters:/,/s1, nodes/d; s/^environment/clusters: []\nenvironment/' "$CONFIG" >bad.yaml
	refused "clusters" virtbed study bad.yaml
}

# A short day of serial tasks; $1: what is swept.
serial_config() {
	cat <<-END
		name: serial
		clusters:
		  - {name: a, nodes: 20, cores: 1, memory_mib: 2048}
		  - {name: b, nodes: 20, cores: 1, memory_mib: 2048}
		environment: {tasks_per_day: 2000, lead_s: 3600, serial: {burst: 16}}
		experiment:
		  policies: [fcfs, max-util]
		  limits: [1]
		  mapping_interval_s: 60
		  duration_s: 18000
		study: {trials: 3, $1}
	END
}

@test "sweeps of a serial environment have a row and a point for every value" {
	serial_config "x: burst, values: [1, 4, 16]" >burst.yaml
	serial_config "x: utility, values: [step, classes]" >utility.yaml
	virtbed study burst.yaml --out burst
	virtbed study utility.yaml --out utility
	[ "$(cut -d, -f14 burst/results.csv | sort -u | tr '\n' ' ')" = "1 16 4 value " ]
	[ "$(cut -d, -f14 utility/results.csv | sort -u | tr '\n' ' ')" = "classes step value " ]
	[ "$(wc -l <burst/results.csv)" -eq $((3 * 3 * 2 + 1)) ]
	[ "$(wc -l <burst/summary.csv)" -eq $((3 * 2 + 1)) ]
	for figure in burst/utility burst/completed utility/utility utility/completed; do
		grep -q '<svg' "$figure.svg"
	done
	[ ! -e burst/energy.png ]
	# A value alone gives what it gives among others.
	serial_config "x: burst, values: [4]" >one.yaml
	virtbed study one.yaml --jobs 1 --out one
	diff <(grep ',4$' burst/results.csv) <(tail -n +2 one/results.csv)
}

@test "a study by two names of one policy is one study" {
	serial_config "x: burst, values: [16]" | sed 's/policies: .*/policies: [max-util, max-util-preempt-pair]/' >plain.yaml
	sed 's/preempt-pair/&+no-wait/' plain.yaml >alias.yaml
	sed 's/preempt-pair/&+algorithm-3/' plain.yaml >other.yaml
	virtbed study alias.yaml --out alias
	[ "$(tail -n +2 alias/results.csv | cut -d, -f1 | sort -u | tr '\n' ' ')" = "max-util max-util-preempt-pair " ]
	cp alias/results.csv .
	virtbed study plain.yaml --out alias
	cmp results.csv alias/results.csv
	grep -q '>max-util-preempt-pair<' alias/utility.svg
	refused "holds another study" virtbed study other.yaml --out alias
	virtbed study other.yaml --out other
	! grep -q max-util-preempt-pair, other/results.csv || return 1
	! cmp <(tail -n +2 results.csv | cut -d, -f2-) <(tail -n +2 other/results.csv | cut -d, -f2-)
}

@test "a sweep that makes no sense is refused with its key" {
	serial_config "x: burst" >bad.yaml
	refused "study.x: 'burst' without study.values" virtbed study bad.yaml
	serial_config "values: [1, 2]" >bad.yaml
	refused "study.values: nothing to sweep" virtbed study bad.yaml
	serial_config "x: flags, values: [0, 2]" >bad.yaml
	refused "study.values[1]: 2 is outside 0 to 1" virtbed study bad.yaml
	sed 's/^study: .*/study: {x: burst, values: [1, 2]}/; s/limits: .*/limits: [1]/' "$CONFIG" >bad.yaml
	refused "study.x: 'burst' needs environment.serial" virtbed study bad.yaml
	serial_config "x: burst, values: [1, 2]" >good.yaml
	refused "depends on energies" virtbed study good.yaml --policy max-upe
}

@test "the jobs of a trace are the tasks, at every size" {
	# Stretched to two days.
	awk '!/^;/ { $2 *= 10 } 1' "$ROOT/tests/unit/replay/traces/synthetic.swf" | gzip >two.swf.gz
	sed "s|tasks_per_day: 400|trace: two.swf.gz, trace_cores: 64|; s/limits: .*/limits: [1]/
		s/^study: .*/study: {trials: 1, sizes: [0.5, 1]}/" "$CONFIG" >trace.yaml
	virtbed study trace.yaml --out traced
	[ "$(wc -l <traced/results.csv)" -eq $((3 * 2 + 1)) ]
	[ "$(cut -d, -f2 traced/results.csv | sort -u | tr '\n' ' ')" = "0.5 1 size " ]
	awk -F, 'NR > 1 && $12 + $11 == 0 { exit 1 }' traced/results.csv
	sed 's/trials: 1/trials: 9/' trace.yaml >far.yaml
	refused "no task arrives in trial 3: from environment.trace_day on the trace has jobs on 2 days; give --trials 2" virtbed study far.yaml --out far
	sed "s|trace: [^,]*|trace: none.swf.gz|" trace.yaml >bad.yaml
	refused "environment.trace: " virtbed study bad.yaml --out bad
	refused "environment.trace: " virtbed simulate bad.yaml
}

# A log like the cleaned one of Curie: it begins on day 366, and there are days without jobs; 60 jobs a day.
late_log() {
	echo "; MaxProcs: 93312"
	echo "; UnixStartTime: 1296514811"
	for day in 366 367 370; do
		for ((i = 0; i < 60; i++)); do
			echo "$(((day * 60 + i))) $(((day - 1) * 86400 + i * 1400)) 5 $((60 + i * 20)) 32 -1 -1 32 7200 -1 1 1 1 -1 1 1 -1 -1"
		done
	done
	# A part of the first job, as logs of machines that swap jobs have them: none of the jobs.
	echo "21960 -1 5 20 32 -1 -1 32 7200 -1 3 1 1 -1 1 1 -1 -1"
}

@test "the figures of the paper take a log that begins late and has days without jobs" {
	late_log | tee plain.swf | gzip >CEA-Curie-2011-2.1-cln.swf.gz
	for figure in 14 15; do
		# The system, small enough for a test; trace and day as they are configured.
		sed 's/nodes: [0-9]*/nodes: 20/; s/^  sizes: .*/  sizes: [0.5]/' \
			"$ROOT/configs/papers/energy-fig$figure.yaml" >"fig$figure.yaml"
		virtbed study "fig$figure.yaml" --policy easy+drop:0.5 --trials 3 --out "fig$figure" 2>said >files
		grep -q "trials 1 to 3 run days 366 to 367, 370; nothing is submitted on 1 to 365, 368 to 369" said
		grep -q "environment.trace: left out 1 line of parts of jobs" said
		grep -qx "fig$figure/days.csv" files
		[ "$(tr '\n' ' ' <"fig$figure/days.csv")" = "trial,day 1,366 2,367 3,370 " ]
		awk -F, 'NR > 1 && $10 != 60 { exit 1 }' "fig$figure/results.csv"
	done
	refused "no task arrives in trial 4: from environment.trace_day on the trace has jobs on 3 days; give --trials 3 or fewer" \
		virtbed study fig14.yaml --policy easy+drop:0.5 --trials 4 --out far
	sed 's/trace_day: 1/trace_day: 4/' fig14.yaml >late.yaml
	refused "no task arrives in trial 1: the trace has jobs on 3 days; set environment.trace_day to 3 or less" \
		virtbed study late.yaml --policy easy+drop:0.5 --trials 1 --out far
	sed 's/CEA-Curie-2011-2.1-cln.swf.gz/plain.swf/; s/trace_day: 1/trace_day: 2/' fig14.yaml >plain.yaml
	virtbed simulate plain.yaml --policy easy+drop:0.5 --trials 2 2>said
	grep -q "trials 1 to 2 run days 367, 370; nothing is submitted on 368 to 369" said
	virtbed study plain.yaml --policy easy+drop:0.5 --trials 2 --shard 1/2 --out part1
	virtbed study plain.yaml --policy easy+drop:0.5 --trials 2 --shard 2/2 --out part2
	virtbed study merge merged part1 part2
	[ "$(tr '\n' ' ' <merged/days.csv)" = "trial,day 1,367 2,370 " ]
}

# A few jobs of the model on shared hosts; $1: what is swept.
sharing_config() {
	cat <<-END
		name: sharing
		clusters:
		  - {name: hosts, nodes: 128, cores: 4, memory_mib: 8192}
		environment: {sharing: {jobs: 60}}
		experiment:
		  policies: [fcfs, easy, greedy-pmtn, dynmcb8, dynmcb8-asap-per]
		  limits: [1]
		  mapping_interval_s: 600
		  duration_s: 1e9
		study: {trials: 3, $1}
	END
}

@test "a study of shared hosts has stretches, and the same ones on any number of threads" {
	sharing_config "x: load, values: [0.5, 0.75]" >sharing.yaml
	virtbed study sharing.yaml --jobs 1 --out one
	virtbed study sharing.yaml --jobs 3 --out three
	for table in results summary sharing degradation stretch; do
		cmp one/$table.csv three/$table.csv
	done
	[ "$(wc -l <one/results.csv)" -eq $((2 * 3 * 5 + 1)) ]
	# Per load, and over all loads.
	[ "$(wc -l <one/sharing.csv)" -eq $(((2 + 1) * 5 + 1)) ]
	[ "$(cut -d, -f3 one/sharing.csv | sort -u | tr '\n' ' ')" = "0.5 0.75 all value " ]
	grep -q '<svg' one/degradation.svg
	# Every trial has a best policy, no policy is better than it, and without sharing nothing is paused.
	# Of a pause both ways count, of a migration one.
	python3 - one/sharing.csv one/results.csv <<-'END'
		import csv, sys
		rows = list(csv.DictReader(open(sys.argv[1])))
		assert all(float(r['degradation_mean']) >= 1 for r in rows)
		assert all(float(r['stretch_max_mean']) >= float(r['stretch_mean_mean']) >= 1 for r in rows)
		assert all(float(r['pauses_per_job_max']) == 0 for r in rows if r['policy'] in ('fcfs', 'easy'))
		assert any(float(r['migrations_per_hour_max']) > 0 for r in rows if r['policy'] == 'dynmcb8')
		assert all(int(r['trials']) == (6 if r['value'] == 'all' else 3) for r in rows)
		runs = list(csv.DictReader(open(sys.argv[2])))
		for r in rows:
		    mine = [x for x in runs if x['policy'] == r['policy'] and r['value'] in ('all', x['value'])]
		    for table, column, times in ('pause', 'paused_memory', 2), ('migration', 'moved_memory', 1):
		        mean = sum(times * 8 * float(x[column]) / float(x['span_s']) for x in mine) / len(mine)
		        assert abs(float(r[table + '_gib_s_mean']) - mean) <= 1e-9 * mean, (r['policy'], table)
	END
	virtbed study sharing.yaml --out one --json | python3 -c '
import json, sys
study = json.load(sys.stdin)
assert len(study["results"]) == 30 and len(study["sharing"]) == 15
assert study["sharing"][0]["degradation_mean"] >= 1'

	# One policy alone has no degradation factor, and no figure of it.
	run --separate-stderr virtbed study sharing.yaml --policy fcfs --out alone
	[ "$status" -eq 0 ]
	[[ $output == *alone/stretch.png* && $output != *degradation* ]]
	[ -s alone/stretch.png ] && [ ! -e alone/degradation.png ]
}

@test "jobs on shared hosts that make no sense are refused with their key" {
	sharing_config "x: load, values: [0.5, 11]" >bad.yaml
	refused "study.values[1]: 11 is outside 0 to 10" virtbed study bad.yaml
	sharing_config "" | sed 's/nodes: 128/nodes: 8/' >bad.yaml
	refused "clusters[0].nodes: 8" virtbed config check bad.yaml
	local job='{arrival_s: 0, run_s: 9, vms: 1, cpu: 1, memory: 1}'
	for wrong in "memory: 1}/memory: 1.5}" "memory: 1}/memory: 0}" "cpu: 1/cpu: 0" "vms: 1/vms: 129"; do
		sharing_config "" | sed "s/jobs: 60/list: [$(sed "s/$wrong/" <<<"$job")]/" >bad.yaml
		refused "environment.sharing.list[0]" virtbed config check bad.yaml
		refused "environment.sharing.list[0]" virtbed study bad.yaml
	done
	# Smaller hosts for the same jobs.
	sharing_config "sizes: [0.1]" >bad.yaml
	refused "could not run on the empty cluster \"hosts\"" virtbed study bad.yaml
	sharing_config "" | sed 's/fcfs, /max-upe, /' >bad.yaml
	refused "depends on energies" virtbed study bad.yaml
}

@test "a study of tasks with deadlines shows which are on time, and bad ones are refused with their key" {
	local figure=$BATS_TEST_DIRNAME/../../configs/papers/pruning-fig9.yaml
	cp -r "${figure%/*}/pets" .
	sed 's/trials: 30/trials: 4/; s/values: .*/values: [10000, 17500]/' "$figure" >video.yaml
	virtbed study video.yaml --jobs 1 --out one
	virtbed study video.yaml --jobs 3 --out three
	for table in results summary pruning robustness variance cost; do
		cmp one/$table.csv three/$table.csv
	done
	grep -q '<svg' one/robustness.svg
	python3 - one/pruning.csv <<-'END'
		import csv, sys
		rows = {(r['policy'], float(r['value'])): r for r in csv.DictReader(open(sys.argv[1]))}
		share = {key: float(row['robustness_percent_mean']) for key, row in rows.items()}
		assert len(share) == 4 and all(0 < x <= 100 for x in share.values()), share
		assert share['pamf', 17500] > share['mm', 17500] + 10, share
		assert all(float(row['cost_per_percent_mean']) > 0 for row in rows.values())
	END
	virtbed simulate video.yaml --trials 2 --out simulated >/dev/null
	virtbed report simulated | grep 'on time %'
	virtbed report simulated --format json | python3 -c '
import json, sys
cells = json.load(sys.stdin)[0]["cells"]
assert all(0 < cell["robustness_percent"] <= 100 for cell in cells), cells'
	sed -i '0,/samples: \[/s//samples: [-/' pets/pruning-video.yaml
	run virtbed config check video.yaml
	[ "$status" -eq 2 ]
	[[ "$output" = *"pets/pruning-video.yaml: entries[0].samples[0]: -"*" is not an execution time"* ]]
	sed 's/pet: .*/queue_length: 0/' video.yaml >none.yaml
	run virtbed study none.yaml --out none
	[ "$status" -eq 2 ]
	[[ "$output" = *"environment.pruning.queue_length: 0 makes no sense"* ]]
}
