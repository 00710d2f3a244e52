#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The command line without VMs: help, bad usage, bad input, reports and verdicts on made-up runs.
# VIRTBED_BUILD names the build directory.

bats_require_minimum_version 1.5.0

setup_file() {
	export ROOT=$BATS_TEST_DIRNAME/../..
	export BUILD=${VIRTBED_BUILD:-$ROOT/build}
	export PATH=$BUILD/controller/cli:$PATH
	export RUNS=$BATS_FILE_TMPDIR/runs
	for verdict in agree differ noisy; do
		"$BUILD/tests/unit/report/make-runs" "$verdict" "$RUNS/$verdict"
	done
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# Status 2, nothing on standard output, and one line on standard error that contains $1.
refused() {
	local words=$1
	shift
	run --separate-stderr "$@"
	[ "$status" -eq 2 ] || { echo "status $status: $stderr"; return 1; }
	[ -z "$output" ]
	[ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ] || { echo "$stderr"; return 1; }
	[[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

@test "help lists every command and each has its own" {
	virtbed --help | grep -q "^  simulate "
	[ "$(virtbed help)" = "$(virtbed --help)" ]
	for command in $(virtbed --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		virtbed "$command" --help | grep -qi usage
		virtbed help "$command" | grep -qi usage
	done
}

@test "version is printed" {
	[[ $(virtbed --version) =~ ^virtbed\ [0-9]+\.[0-9]+\.[0-9]+(\+[0-9a-f]{12}(\.dirty)?)?$ ]]
	[ "$(virtbed version)" = "$(virtbed --version)" ]
}

@test "the commit that was built stands in --version, in a store and in its report" {
	git -C "$ROOT" rev-parse HEAD >/dev/null || skip "the sources are no git checkout"
	version=$(virtbed --version | cut -d ' ' -f 2)
	[[ $(git -C "$ROOT" rev-parse HEAD) == $(sed 's/.*+//; s/\.dirty//' <<<"$version")* ]] ||
		skip "the build is of another commit: $version"
	virtbed simulate "$ROOT/configs/simulated.yaml" --trials 1 --out built >/dev/null
	[ "$(sqlite3 built/run.sqlite "SELECT value FROM meta WHERE key = 'version'")" = "$version" ]
	virtbed report built | grep -F "virtbed $version"
}

@test "an unknown command is answered with the known ones" {
	refused "known: run serve simulate" virtbed simulatte
}

@test "no command prints the usage and fails" {
	run -2 --separate-stderr virtbed
	[[ $stderr == *"Usage: virtbed COMMAND"* ]]
	[ -z "$output" ]
}

@test "an unknown option is refused by every command" {
	for command in run serve simulate replay study profile compare report decide policies submit queue show \
		output explain cancel hold release suspend resume migrate clusters nodes drain undrain \
		energy token top config completion; do
		refused "--frobnicate" virtbed "$command" --frobnicate
	done
}

@test "missing arguments are refused" {
	refused "two run directories" virtbed compare one
	refused "one run directory or more" virtbed report
	refused "one file" virtbed config check
	refused "known: check dump" virtbed config chekc file
	refused "known: bash" virtbed completion tcsh
	refused "a directory and its parts" virtbed study merge
}

@test "the shipped configurations are good" {
	for config in "$ROOT"/configs/testbed-hs22.yaml "$ROOT"/configs/one-machine*.yaml \
		"$ROOT"/configs/papers/*.yaml; do
		virtbed config check "$config" | grep -q "good"
	done
}

@test "what hosts that are shared cannot do is refused" {
	local good=$ROOT/configs/one-machine-sharing.yaml
	sed '/name: IS.4/s/cpu_need: 0.5/cpu_need: 1/' "$good" >needs.yaml
	refused "the type a lower cpu_need" virtbed config check needs.yaml
	sed 's/limits: .*/limits: [0.6]/' "$good" >limits.yaml
	refused "experiment.limits: shared hosts have no energy limit" virtbed config check limits.yaml
}

@test "a dumped configuration reads back equal" {
	virtbed config dump "$ROOT/configs/testbed-hs22.yaml" >once.yaml
	virtbed config dump once.yaml >twice.yaml
	cmp once.yaml twice.yaml
	virtbed simulate --trials 5 --json "$ROOT/configs/testbed-hs22.yaml" >a
	virtbed simulate --trials 5 --json once.yaml >b
	cmp a b
}

@test "energies of a simulation are in units that fit" {
	sed 's/budget_j: .*/budget_j: 300/' "$ROOT/configs/simulated.yaml" >small.yaml
	grep -q "budget_j: 300$" small.yaml
	virtbed simulate --trials 1 small.yaml >table
	grep "; 100 % is 300 J of dynamic energy$" table
	grep "  energy J  " table
	sed 's/budget_j: .*/budget_j: 5000000/' "$ROOT/configs/simulated.yaml" >large.yaml
	virtbed simulate --trials 1 large.yaml >table
	grep "; 100 % is 5.00 MJ of dynamic energy$" table
	grep "  energy kJ  " table
}

@test "a simulation goes by the estimates however fast clusters are simulated, and warns of that" {
	sed 's/idle_w:/speed: 10, &/' "$ROOT/configs/simulated.yaml" >fast.yaml
	virtbed simulate --trials 1 --json "$ROOT/configs/simulated.yaml" 2>words >a
	[ ! -s words ]
	virtbed simulate --trials 1 --json fast.yaml 2>words >b
	cmp a b
	grep -q "clusters\[2\].simulated.speed: 10 is of its local scheduler alone" words
}

@test "an environment that makes no sense is refused with its key" {
	local good=$ROOT/configs/papers/energy-5000.yaml
	sed 's/special: .*/special: [s1, s9]/' "$good" >bad.yaml
	refused "environment.special[1]" virtbed config check bad.yaml
	sed 's/tasks_per_day: .*/tasks_per_day: -1/' "$good" >bad.yaml
	refused "environment.tasks_per_day" virtbed simulate bad.yaml
	sed 's/lead_s: .*/lead_s: 14401/' "$good" >bad.yaml
	refused "environment.lead_s" virtbed simulate bad.yaml
	sed 's/budget_j: .*/budget_j: 0/' "$good" >bad.yaml
	refused "experiment.budget_j" virtbed simulate bad.yaml
	sed 's/pet_seed: .*/&\n    bin_s: 1e-6/' "$ROOT/configs/papers/pruning-fig7.yaml" >bad.yaml
	refused "environment.pruning.bin_s" virtbed config check bad.yaml
	refused "environment.pruning.bin_s" virtbed simulate bad.yaml
	refused "can only be simulated" virtbed run "$good"
	refused "the leniency must be" virtbed simulate --policy max-upr+filter:task:0 "$good"
	refused "would drop them all" virtbed simulate --policy max-upr+drop:9 "$good"
	virtbed config dump "$good" >once.yaml
	virtbed config dump once.yaml >twice.yaml
	cmp once.yaml twice.yaml
}

@test "a trace is replayed as its summary and rows say" {
	local traces=$ROOT/tests/unit/replay/traces
	virtbed replay "$traces/synthetic.swf" --json >plain
	virtbed replay "$traces/synthetic.swf.gz" --json >zipped
	cmp plain zipped
	[ "$(jq -r '[.[].policy] | join(" ")' plain)" = "fcfs easy conservative" ]
	virtbed replay "$traces/synthetic.swf" --policy easy --out jobs.csv
	[ "$(($(wc -l <jobs.csv) - 1))" -eq "$(jq '.[1].nb_jobs_finished' plain)" ]
	awk -F, 'NR > 1 { sum += $10 } END { printf "%.3f\n", sum / (NR - 1) }' jobs.csv >mean
	[ "$(cat mean)" = "$(jq -r '.[1].mean_waiting_time' plain | xargs printf '%.3f\n')" ]
}

@test "orders of papers are replayed where they are named, and policies of a simulation" {
	local trace=$ROOT/tests/unit/replay/traces/synthetic.swf
	virtbed replay "$trace" --policy saf,saf+easy --skip 10 --first 100 --json >orders
	[ "$(jq -r '[.[] | "\(.policy) \(.nb_jobs_finished)"] | join(" ")' orders)" = "saf 100 saf+easy 100" ]
	[ "$(jq '.[0].mean_waiting_time > .[1].mean_waiting_time' orders)" = true ]
	[ "$(virtbed replay "$trace" --rlscheduler --json | jq -r '[.[].policy] | join(" ")')" = "fcfs easy" ]
	[ "$(virtbed replay "$trace" --rlscheduler --json | jq '.[0].overrun')" = true ]
	virtbed policies --json | jq -e 'map(.name) | contains(["sjf", "unicef", "f4", "value-per-watt"])'
	virtbed replay "$trace" --policy max-upt,random,max-util-preempt-diff --json | jq -e 'all(.nb_jobs_finished == 283)'
	refused "a replay drops no jobs" virtbed replay "$trace" --policy max-upt+drop:2
	virtbed simulate --trials 1 --policy wfp3+easy,value-per-watt "$ROOT/configs/testbed-hs22.yaml" >table
	grep -q "^100 %  wfp3+easy" table
}

@test "lines that are not replayed are named, and lines of more fields are read" {
	local trace=$ROOT/tests/unit/replay/traces/too-wide.swf
	awk '!/^;/ { $0 = $0 " 8.5e6 gpu batch" } 1' "$trace" >longer.swf
	virtbed replay longer.swf --policy fcfs --left-out lines.csv >table 2>notes
	grep -q "4 lines with more than 18 fields" notes
	[ "$(wc -l <lines.csv)" -eq 4 ]
	grep -qE '^[0-9]+,[0-9]+,"wider than the machine"$' lines.csv
	run -1 virtbed replay longer.swf --left-out nowhere/lines.csv
}

@test "the energy of jobs whose power a trace has is counted, up to a limit" {
	printf '%s\n' "; MaxProcs: 4" "; PowerField: 19" "1 0 -1 100 4 -1 -1 4 100 -1 1 1 -1 -1 -1 -1 -1 -1 500" \
		"2 1 -1 100 4 -1 -1 4 100 -1 1 1 -1 -1 -1 -1 -1 -1 700" >power.swf
	virtbed replay power.swf --policy easy --out jobs.csv >table
	grep -q "energy J  max power W" table
	run -1 grep "within energy" table
	[ "$(cut -d, -f 1,17 jobs.csv | tail -n +2 | tr '\n' ' ')" = "1,50000 2,70000 " ]
	virtbed replay power.swf --policy easy --energy-limit 64000 --batsim out --json >limited
	jq -e '.[0] | [.consumed_joules, .max_power, .nb_jobs_within_energy, .energy_limit_reached] == [120000, 700, 1, 120]' limited
	jq -e '.consumed_joules == 120000' out/schedule.json
	refused "no power of jobs" virtbed replay "$ROOT/tests/unit/replay/traces/synthetic.swf" --energy-limit 5
	refused "python3 -m virtbed.tables" virtbed replay "$ROOT/tests/python/tables/fdata.csv"
}

@test "a trace is shaken, and its users react" {
	local trace=$ROOT/tests/unit/replay/traces/synthetic.swf
	virtbed replay "$trace" --policy easy --shake 60 --trials 4 --seed 3 --json >shaken
	virtbed replay "$trace" --policy easy --shake 60 --trials 4 --seed 3 --json | cmp - shaken
	[ "$(jq '.[0] | .trials == 4 and .shake == 60 and .mean_slowdown_deviation > 0' shaken)" = true ]
	refused "--trials is for --shake" virtbed replay "$trace" --trials 4
	refused "not for --trials" virtbed replay "$trace" --shake 60 --trials 4 --policy easy --out jobs.csv
	awk '!/^;/ { $12 = NR % 5 + 1 } 1' "$trace" >users.swf
	virtbed replay users.swf --semi-open --policy fcfs,easy --json >semi-open
	[ "$(jq 'all(.semi_open and .nb_sessions > 0)' semi-open)" = true ]
	virtbed replay users.swf --semi-open --think-most 0 --policy easy | grep -q "^semi-open: "
	refused "--think-most is for --semi-open" virtbed replay users.swf --think-most 9
	awk '!/^;/ { $12 = -1 } 1' "$trace" >nobody.swf
	run -2 --separate-stderr virtbed replay nobody.swf --semi-open
	[[ $stderr == *"no job has a user"* ]]
}

@test "a workload of Batsim is replayed and simulated" {
	jq -n '{nb_res: 8, profiles: {d: {type: "delay", delay: 3600}},
		jobs: [range(200) | {id: "\(.)", subtime: (. * 400), res: (. % 8 + 1), walltime: 4000, profile: "d"}]}' \
		>workload.json
	[ "$(virtbed replay workload.json --policy sjf --json | jq '.[0].nb_jobs_finished')" -eq 200 ]
	jq '.profiles.d.type = "parallel"' workload.json >parallel.json
	refused 'parallel.json: jobs[0]: profile "d" is of type "parallel"' virtbed replay parallel.json
	sed 's/^  trace: .*/  trace: workload.json/' "$ROOT/configs/papers/energy-fig14.yaml" >trace.yaml
	grep -q "trace: workload.json" trace.yaml
	virtbed simulate trace.yaml --trials 1 --policy easy >table
	grep -q easy table
}

@test "bad traces and options of replay are refused in one line" {
	local traces=$ROOT/tests/unit/replay/traces
	refused "short-line.swf:3" virtbed replay "$traces/short-line.swf"
	refused "cut short" virtbed replay "$traces/cut-short.swf.gz"
	refused "give --procs" virtbed replay "$traces/no-size.swf"
	refused "neither user nor perfect" virtbed replay --estimates mine "$traces/synthetic.swf"
	refused "known: fcfs easy conservative" virtbed replay --policy longest "$traces/synthetic.swf"
	refused "and not for conservative" virtbed replay --rlscheduler --policy conservative "$traces/synthetic.swf"
	refused "--rlscheduler and --keep" virtbed replay --rlscheduler --keep-reservations "$traces/synthetic.swf"
	# Policies that tell processors apart.
	printf '; MaxProcs: 4294967295\n1 0 0 9 4 -1 -1 4 9 -1 1 1 1 -1 -1 -1 -1 -1\n' >huge.swf
	virtbed replay huge.swf --policy easy,sjf
	refused "--policy max-upt: a machine of 4294967295 processors is too large" virtbed replay huge.swf --policy fcfs,max-upt
	refused "at most 16777216 can be told apart" virtbed replay huge.swf --policy max-upt --procs 16777217
	virtbed replay huge.swf --policy max-upt --procs 16777216
	refused '"easy" is given twice' virtbed replay --policy easy,fcfs,easy "$traces/synthetic.swf"
	refused "one --policy" virtbed replay --out jobs.csv "$traces/synthetic.swf"
	refused "exclude each other" virtbed replay --keep-reservations --rebuild "$traces/synthetic.swf"
	for number in 0 -1 -0 0x10 1e3 1.5 +4 " 4" "4 " "" nan 1,024 4294967296 99999999999999999999; do
		refused "--procs: \"$number\" is no whole number from 1" virtbed replay "--procs=$number" "$traces/synthetic.swf"
		refused "--first: \"$number\" is no whole number from 1" virtbed replay "--first=$number" "$traces/synthetic.swf"
	done
	[ "$(virtbed replay --procs 040 "$traces/synthetic.swf" | head -1)" = "40 processors, users' estimates" ]
	printf '; MaxProcs: 1,024\n' | cat - "$traces/promise.swf" >comma.swf
	refused 'comma.swf:1: header: MaxProcs: "1,024" is no whole number' virtbed replay comma.swf
	awk '!/^;/ { $4 = "12x" } 1' "$traces/synthetic.swf" >word.swf
	refused 'field 4, "12x", is no number' virtbed replay word.swf
	# What is quoted of it must not reach the terminal as it is.
	printf '\033[31m\377 2 3\n' >odd.swf
	refused 'odd.swf:1: field 1, "\x1b[31m' virtbed replay odd.swf
}

@test "parts of jobs are no jobs of a trace" {
	local rest="1 1 -1 1 1 -1 -1"
	printf '%s\n' "; MaxProcs: 4" "1 0 0 30 4 -1 -1 4 40 -1 1 $rest" "1 0 0 10 4 -1 -1 4 40 -1 2 $rest" \
		"1 -1 5 20 4 -1 -1 4 40 -1 3 $rest" "9007199254740993 5 0 10 4 -1 -1 4 20 -1 0 $rest" \
		"8 6 0 10 4 -1 -1 4 20 -1 4 $rest" >parts.swf
	virtbed replay parts.swf --policy fcfs --json --out jobs.csv 2>notes >summary
	jq -e '.[0] | .nb_jobs == 2 and .nb_parts_skipped == 3 and .nb_jobs_partial == 1' summary
	grep -q "parts.swf: left out 3 lines of parts of jobs" notes
	grep -q "1 job left out with them, job 8 the first: no line of the whole" notes
	grep -q "^9007199254740993,5," jobs.csv
}

@test "what a trace leaves out is counted in good English" {
	local traces=$ROOT/tests/unit/replay/traces
	for wide in 1 2; do
		awk -v wide=$wide '/^;/ { print; next } $5 <= 32 && $8 <= 32 { if (wide-- > 0) $5 = $8 = 99; print }' \
			"$traces/synthetic.swf" >wide.swf
		virtbed replay --policy easy wide.swf 2>notes >table
		if [ $wide = 1 ]; then
			grep -q "refused 1 job wider" notes
		else
			grep -q "refused 2 jobs wider" notes
		fi
	done
}

@test "a configuration without hosts cannot be tried" {
	local hostless=$ROOT/configs/papers/energy-5000.yaml
	refused "$hostless: no cluster has hosts" virtbed config check --live "$hostless"
	refused "$hostless: no cluster has hosts" virtbed energy --live "$hostless"
	run -1 virtbed energy --live "$ROOT/configs/simulated.yaml"
	[[ ${lines[1]} == "s1 "*"it is simulated: its local scheduler alone knows what it draws"* ]]
}

@test "a configuration that could not be read again is not dumped" {
	{ printf 'name: t\nclusters: [{name: a, nodes: 65536, cores: 1, memory_mib: 1, simulated: {idle_w: 1}, hosts: ['
	  yes '{},' | head -n 33000
	  printf ']}]\nenvironment: {tasks_per_day: 9}\n'
	  echo 'experiment: {policies: [easy], limits: [1], budget_j: 1, mapping_interval_s: 60, duration_s: 86400}'
	} >long.yaml
	refused "more than 4 MiB is not read again" virtbed config dump long.yaml
}

@test "config takes no option that would do nothing" {
	local good=$ROOT/configs/testbed-hs22.yaml
	refused "--live" virtbed config dump --live "$good"
	refused "--json" virtbed config dump --json "$good"
	refused "--timeout" virtbed config dump --timeout 9 "$good"
	refused "--timeout" virtbed config check --timeout 9 "$good"
	refused "--timeout" virtbed config check --live --timeout 0 "$good"
	virtbed config check --json "$good" >rows
	jq -e '.[0].what == "configuration" and .[0].result == "works" and (.[0].found | startswith("4 clusters, ")) and
		[.[1:][].what] == ["simulate and study", "run", "profile", "serve"] and .[1].result == "works"' rows
	echo "name: [" >bad.yaml
	refused "bad.yaml" virtbed config check --json bad.yaml
}

@test "config keys lists what a configuration takes, and prints its manual page" {
	virtbed config keys --man | diff - "$ROOT/docs/reference/virtbed.yaml.5"
	virtbed config keys | grep -E '^service.energy_window_s +number +s +default 86400, 10 to 31622400$'
	virtbed config keys 'clusters[].hosts[].meter.kind' | grep -q 'none, ipmi, redfish'
	virtbed config keys plugin | grep -E '^plugin.deadline_s +number +s '
	virtbed config keys plugin | grep -q '^service' && false
	[ "$(virtbed config keys plugin.deadline_s | wc -l)" -eq 2 ]
	[ "$(virtbed config keys --paths | wc -l)" -gt 200 ]
	refused "no key 'cluster'" virtbed config keys cluster
	refused "--man and --paths are for" virtbed config dump --man x.yaml
	refused "no more than one key" virtbed config keys name description
}

@test "a guest image that is not there is told before anything is started" {
	local image
	for image in "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/none"; do
		VIRTBED_IMAGE=$image refused "guest image: there is none in '$image'" \
			virtbed profile "$ROOT/configs/one-machine.yaml"
	done
	[ ! -d runs ]
}

@test "a run directory that cannot be written is told before anything is simulated" {
	local good=$ROOT/configs/testbed-hs22.yaml dir
	touch file
	for dir in file file/below; do
		refused "--out: cannot make the run directory \"$dir\"" \
			timeout 20 virtbed simulate --trials 1000000 --out "$dir" "$good"
	done
	refused "there is a run in it already" \
		timeout 20 virtbed simulate --trials 1000000 --out "$RUNS/agree/simulated" "$good"
	virtbed simulate --trials 1 --policy easy --limit 1 --out new/below "$good" >/dev/null
	[ -s new/below/run.sqlite ]
}

@test "verbs for tasks and nodes refuse what makes no sense" {
	export VIRTBED_URI=unix:$BATS_TEST_TMPDIR/none.sock
	refused "give one TYPE" virtbed submit
	refused "give one TYPE" virtbed submit IS.2 CG.2
	refused "give one TYPE" virtbed submit IS.2 --type CG.2
	refused "are for a --script" virtbed submit IS.2 --stage-in "$0"
	refused "say how long it may run" virtbed submit --script "$0"
	refused "leave out --cores, --nodes and --time" virtbed submit --script "$0" --type T --time 1m
	refused "leave out --cores, --nodes and --time" virtbed submit --script "$0" --type T --nodes 2
	refused "are for a --script" virtbed submit IS.2 --nodes 2
	refused "leave out --cores, or it" virtbed submit --script "$0" --time 1m --cores 2 --nodes 2
	refused '--nodes: "0" is no whole number from 1' virtbed submit --script "$0" --time 1m --nodes 0
	refused '--cores: "two" is no whole number from 1' virtbed submit --script "$0" --time 1m -C two
	refused "/nonexistent" virtbed submit --script /nonexistent --time 1m
	refused "'../x' is no path below" virtbed submit --script "$BATS_TEST_FILENAME" --time 1m --stage-out ../x
	refused "appears twice" virtbed submit --script "$BATS_TEST_FILENAME" --time 1m --stage-in "$BATS_TEST_FILENAME"
	refused "'caf�' is not UTF-8" virtbed submit --script "$BATS_TEST_FILENAME" --time 1m -- 7 $'caf\xe9'
	refused "'caf�' is not UTF-8" virtbed submit --script "$BATS_TEST_FILENAME" --time 1m --stage-out $'caf\xe9'
	refused "'caf�' is not UTF-8, and no task type" virtbed submit $'caf\xe9'
	refused "'caf�' is not UTF-8, and no host" virtbed migrate 1 --to b1 $'caf\xe9'
	for words in 2 3-5 2,4; do
		refused "'$words' stands where hosts do; several tasks: 1,$words" virtbed migrate 1 $words --to b1
	done
	virtbed migrate --help | grep -q "TASK\[,TASK...\] --to HOST..."
	touch $'caf\xe9'
	refused "'caf�' is not UTF-8" virtbed submit --script "$BATS_TEST_FILENAME" --time 1m --stage-in $'caf\xe9'
	refused "not both" virtbed output 1 --follow --files x
	refused '--count: "0" is no whole number from 1 to 10000' virtbed submit IS.2 --count 0
	refused "--array and --count say the same" virtbed submit IS.2 --array 3 --count 2
	refused '--deadline: "soon" is no time span' virtbed submit IS.2 --deadline soon
	refused "--constant needs --zero-at" virtbed submit IS.2 --constant 10m
	refused "leave out --constant" virtbed submit IS.2 --deadline 1h --zero-at 2h
	for number in 0 -1 nan inf 1e999 0x1 1,5 ""; do
		refused "--utility: \"$number\" is no number above 0" virtbed submit IS.2 "--utility=$number"
	done
	for number in nan -1 inf 0x10 "" 1s; do
		refused '--wait: ' virtbed suspend 1 "--wait=$number"
		refused '--wait: ' virtbed migrate 1 --to b1 "--wait=$number"
		refused '--interval: ' virtbed top "--interval=$number"
		refused '--timeout: ' virtbed config check --live "--timeout=$number" "$ROOT/configs/one-machine.yaml"
		refused '--interval: ' virtbed energy --live "--interval=$number" "$ROOT/configs/simulated.yaml"
		refused '--count: ' virtbed energy --live "--count=$number" "$ROOT/configs/simulated.yaml"
	done
	for command in show output explain cancel hold release; do
		refused "which TASK?" virtbed "$command"
		refused '"seven" names no task' virtbed "$command" seven
		refused '"5-3" names no task' virtbed "$command" 5-3
	done
	refused '"1-9999999" names too many tasks' virtbed cancel 1-9999999
	refused "give --state or --all" virtbed queue --state running --all
	refused "give one TASK" virtbed output 1 2
	refused "not both" virtbed output 1 --follow --json
	refused "--files, which writes them, or --json, not both" virtbed output 1 --files x --json
	for command in drain undrain; do
		refused "which node?" virtbed "$command"
		refused '"c1" names no node: write CLUSTER/NODE' virtbed "$command" c1
		refused '"c1/x" names no node' virtbed "$command" c1/x
		refused '"/0" names no node' virtbed "$command" /0
	done
	refused "say why with --reason" virtbed drain c1/0
	refused "--uri or --run, not both" virtbed queue --uri unix:/x --run .
	refused "leave out the configuration and --at" virtbed nodes --cluster c1 --at unix:/x
	refused 'no sums by "rubbish"; known: user, task' virtbed energy --by rubbish
	refused '--interval: "0" is no number from 0.1' virtbed top --interval 0
}

@test "a controller that is not there is named" {
	unset VIRTBED_URI XDG_RUNTIME_DIR
	refused "plan.json" virtbed queue --run .
	refused 'address "nowhere": expected unix:/PATH' virtbed queue --uri nowhere
	for command in queue clusters nodes energy top "submit IS.2" "show 1" "cancel 1" "drain c1/0 --reason x"; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr virtbed $command --uri "unix:$BATS_TEST_TMPDIR/none.sock"
		[ -z "$output" ]
		[[ $stderr == *"the controller at unix:$BATS_TEST_TMPDIR/none.sock gives no answer"* ]] ||
			{ echo "$command: $stderr"; return 1; }
		[[ $stderr != */v1/* ]] || { echo "$command: $stderr"; return 1; }
	done
}

@test "no message names a path of an API" {
	# String literals of more than one word, and what is printed of them in comments of headers does not count.
	run -1 grep -rnE --include='*.c' '^[^/]*"[^"]* [^"]*/v1/' "$ROOT/controller" "$ROOT/common" "$ROOT/local-sched"
	run -1 grep -nE '>[^<]*/v1/' "$ROOT"/controller/api/page/*.html
}

@test "nodes without a scheduler are no table" {
	run -1 --separate-stderr virtbed nodes --at "unix:$BATS_TEST_TMPDIR/none.sock"
	[ -z "$output" ]
	run -1 --separate-stderr virtbed nodes --json --at "unix:$BATS_TEST_TMPDIR/none.sock"
	[ "$(jq -c . <<<"$output")" = '{"nodes":[]}' ]
}

@test "help is the same in every locale" {
	for command in simulate energy; do
		[ "$(LC_ALL=C virtbed "$command" --help)" = "$(LC_ALL=C.UTF-8 virtbed "$command" --help)" ]
		[[ $(LC_ALL=C virtbed "$command" --help) == *"[OPTION...]"* ]]
	done
}

@test "a bad configuration is refused in one line with its place" {
	sed 's/^workload:/wrokload:/' "$ROOT/configs/testbed-hs22.yaml" >bad.yaml
	refused "bad.yaml" virtbed config check bad.yaml
	refused "bad.yaml" virtbed config check --live bad.yaml
	refused "none.yaml" virtbed config check none.yaml
	refused "bad.yaml" virtbed simulate bad.yaml
	refused "bad.yaml" virtbed run bad.yaml
	refused "bad.yaml" virtbed profile bad.yaml
}

@test "what run or simulate would refuse, config check refuses too" {
	local good=$ROOT/configs/testbed-hs22.yaml command names
	# Those that go into the guest image, and no other.
	names=$(sed -n 's|.* usr/lib/virtbed/npb/||p' "$ROOT/vm-images/build" | LC_ALL=C sort | paste -sd, |
		sed 's/,/, /g')
	[[ $names == *mg* ]]
	sed 's/benchmark: mg/benchmark: nosuch/' "$good" >bad.yaml
	for command in "config check" simulate run profile; do
		refused "'nosuch' is not known; there are $names" virtbed $command bad.yaml
	done
	sed 's/policies: .*/policies: [eazy]/' "$good" >bad.yaml
	refused "bad.yaml: experiment.policies: " virtbed config check bad.yaml
	sed '/^verdict:/,/^$/d; s/^  policies: .*/  policies: [eazy]/' "$ROOT/configs/one-machine.yaml" >runs.yaml
	refused "runs.yaml: experiment.policies: unknown policy \"eazy\"" virtbed profile runs.yaml
	for command in "simulate bad.yaml" "study bad.yaml" "run runs.yaml"; do
		refused "${command#* }: experiment.policies: unknown policy \"eazy\"" virtbed $command
		refused "--policy: unknown policy \"lazy\"" virtbed $command --policy lazy
	done
	sed 's/policies: .*/policies: [easy, easy]/' "$good" >bad.yaml
	refused "appears twice" virtbed config check bad.yaml
}

@test "config check refuses what serve would refuse for good" {
	local good=$ROOT/configs/simulated.yaml key busy
	for key in 'listen: http://0.0.0.0:18099' 'listen: ftp://x' 'listen: http://127.1:18099' 'group: no-such-group-here' \
		'listen: http://127.0.0.1:65536' 'listen: http://127.0.0.1' 'listen: http://u@127.0.0.1:0' 'listen: unix:x' \
		"listen: unix:/$(printf 'x%.0s' {1..110})" 'policy: max-upt+filter:task:2.0' 'policy: nonsense'; do
		sed "s|^service:|&\n  $key|; /^  policy: easy/d" "$good" >bad.yaml
		refused "bad.yaml: service.${key%%:*}: " virtbed config check bad.yaml
		refused "bad.yaml: service.${key%%:*}: " virtbed config check --live bad.yaml
		refused "service.${key%%:*}: " virtbed serve bad.yaml --state state --listen "unix:$PWD/socket"
	done
	# An address in use may be that of the service that is to reload the file.
	exec 7< <(python3 -c 'import socket, sys, time
at = socket.create_server(("127.0.0.1", 0)); print(at.getsockname()[1], flush=True); time.sleep(60)')
	read -r busy <&7
	sed "s|^service:|&\n  listen: http://127.0.0.1:$busy|" "$good" >busy.yaml
	virtbed config check busy.yaml | grep -x "  for serve: yes"
	exec 7<&-
	exec 7< <(python3 -c 'import socket, time
at = socket.socket(socket.AF_UNIX); at.bind("busy"); at.listen(); print(flush=True); time.sleep(60)')
	read -r _ <&7
	sed "s|^service:|&\n  listen: unix:$PWD/busy|" "$good" >busy.yaml
	virtbed config check busy.yaml | grep -x "  for serve: yes"
	exec 7<&-
}

@test "config check knows what local schedulers and this machine can take" {
	local good=$ROOT/configs/simulated.yaml
	sed '0,/nodes: [0-9]*/s//nodes: 240/' "$good" >large.yaml
	refused "large.yaml: clusters[0].nodes: a local scheduler serves 1 to 239 nodes" virtbed config check large.yaml
	refused "clusters[0].nodes: a local scheduler serves" virtbed serve large.yaml --state state --listen "unix:$PWD/s"
	virtbed simulate large.yaml --trials 1 >/dev/null
	sed '0,/memory_mib: [0-9]*/s//memory_mib: 60000000/' "$ROOT/configs/one-machine.yaml" >memory.yaml
	virtbed config check memory.yaml >uses
	[ "$(grep -cE '^  for (run|profile|serve): no: clusters: all VMs that are to run on this machine need 1171.* GiB of memory' uses)" = 3 ]
	refused "all VMs that are to run on this machine need" virtbed run memory.yaml --profile
	refused "all VMs that are to run on this machine need" virtbed lab up memory.yaml
}

@test "config check knows files of TLS that are none" {
	local good=$ROOT/configs/simulated.yaml what
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=x \
		-keyout key -out certificate 2>/dev/null
	chmod 600 key
	mkfifo -m 600 pipe
	(umask 077; echo no certificate >garbage)
	for what in pipe garbage /dev/null none; do
		for files in "certificate: $what, key: key" "certificate: certificate, key: $what"; do
			sed "s|^service:.*|service: {policy: easy, listen: 'https://127.0.0.1:0', $files}\nrest:|; " "$good" |
				sed '/^rest:/,$d' >bad.yaml
			refused "bad.yaml: service.listen: " timeout 60 virtbed config check bad.yaml
			refused "service.listen: " timeout 60 virtbed serve bad.yaml --state state --listen "unix:$PWD/s"
		done
		# By which other machines' local schedulers are to know us.
		for files in "ca: $what, certificate: certificate, key: key" "ca: certificate, certificate: $what, key: key" \
			"ca: certificate, certificate: certificate, key: $what"; do
			cat >bad.yaml <<-END
				name: peers
				clusters: [{name: c, nodes: 2, cores: 1, memory_mib: 128, local_scheduler: 'https://127.0.0.1:1'}]
				types: [{name: A, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}]
				estimates: [{type: A, cluster: c, etc_s: 5, eec_j: 10}]
				workload: {arrival_mean_s: 2, duration_s: 20, utility_max: [1]}
				experiment: {policies: [easy], limits: [1], budget_j: 1000, mapping_interval_s: 1, duration_s: 60}
				service: {policy: easy}
				tls: {$files}
			END
			refused "bad.yaml: tls: " timeout 60 virtbed config check bad.yaml
			refused "tls: " timeout 60 virtbed serve bad.yaml --state state --listen "unix:$PWD/s"
			virtbed simulate bad.yaml --trials 1 >/dev/null
		done
	done
}

@test "config check by a user who may not do what the service's user may calls nothing wrong" {
	local dir as=
	if [ "$(id -u)" -eq 0 ]; then
		command -v setpriv >/dev/null || skip "no setpriv"
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	fi
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cp "$(command -v virtbed)" "$dir/bin"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=x \
		-keyout "$dir/key" -out "$dir/certificate" 2>/dev/null
	mkdir "$dir/closed"
	sed "s|^service:|&\n  listen: unix:$dir/closed/new.sock|" "$ROOT/configs/simulated.yaml" >"$dir/socket.yaml"
	sed "s|^service:|&\n  listen: unix:$dir/none/new.sock|" "$ROOT/configs/simulated.yaml" >"$dir/none.yaml"
	sed "s|^service:|&\n  listen: https://127.0.0.1:0\n  certificate: $dir/certificate\n  key: $dir/key|" \
		"$ROOT/configs/simulated.yaml" >"$dir/key.yaml"
	virtbed config check "$dir/key.yaml" | grep -x "  for serve: yes"
	[ -n "$as" ] && chmod 600 "$dir/key" || chmod 000 "$dir/key"
	chmod 555 "$dir/closed"
	cd "$dir"
	for file in socket key none; do
		$as ./bin config check "$file.yaml" >"$BATS_TEST_TMPDIR/uses"
		grep "^  for serve: not yet: service.listen: .*; check it as the user that serves$" "$BATS_TEST_TMPDIR/uses"
	done
	rm -rf "$dir"
}

@test "config check says for which commands a configuration is good, and why not for others" {
	virtbed config check "$ROOT/configs/simulated.yaml" >uses
	[ "$(grep -cE '^  for (simulate and study|run|profile|serve): yes$' uses)" = 4 ]
	virtbed config check "$ROOT/configs/papers/energy-5000.yaml" >uses
	grep -x "  for simulate and study: yes" uses
	grep -x "  for run: no: an environment can only be simulated" uses
	grep -x "  for profile: no: an environment can only be simulated" uses
	virtbed config check "$ROOT/configs/one-machine.yaml" >uses
	[ "$(grep -c "not yet: there is no estimate for type 'IS.S.2' on cluster 'c1'; measure them first" uses)" = 3 ]
	grep "^  for run: not yet: .*; or add --profile$" uses
	# What measures does not wait for what is measured.
	mkdir image
	touch image/manifest.json
	VIRTBED_IMAGE=$PWD/image virtbed config check "$ROOT/configs/one-machine.yaml" | grep -x "  for profile: yes"
	VIRTBED_IMAGE=$PWD/none virtbed config check "$ROOT/configs/one-machine.yaml" | grep "^  for profile: not yet: guest image: "
	# Where there is a section for it, what cannot be served at all is wrong.
	sed '$a service: {policy: easy}' "$ROOT/configs/one-machine-sharing.yaml" >bad.yaml
	refused "bad.yaml: clusters[0].shared: " virtbed config check bad.yaml
}

@test "a matrix without numbers is refused with its file" {
	refused "one-machine.yaml: estimates: none for type" virtbed simulate "$ROOT/configs/one-machine.yaml"
	refused "one-machine.yaml: there is no estimate for type" virtbed run "$ROOT/configs/one-machine.yaml"
}

@test "estimates that a run would replace by its own are refused" {
	refused "exclude each other" virtbed run --profile --estimates mine.yaml "$ROOT/configs/one-machine.yaml"
	refused "environment.pruning" virtbed run --estimates mine.yaml "$ROOT/configs/one-machine-pruning.yaml"
}

@test "a policy or a limit that is given twice is refused" {
	local good=$ROOT/configs/one-machine.yaml command
	for command in simulate run study; do
		refused '"easy" is given twice' virtbed $command --policy easy,max-upr,easy "$good"
	done
	for command in simulate run; do
		refused "1.0 is given twice" virtbed $command --limit 1,0.7,1.0 "$good"
		refused "'x' is not a fraction" virtbed $command --limit x "$good"
		refused "--limit" virtbed $command --limit "" "$good"
	done
}

@test "two names of one policy are one" {
	local command
	for command in simulate run study; do
		refused '"max-upt-preempt-pair" and "max-upt-preempt-pair+no-wait" are the same policy' virtbed $command \
			--policy easy,max-upt-preempt-pair,max-upt-preempt-pair+no-wait "$ROOT/configs/one-machine.yaml"
	done
	virtbed policies | grep -q -- "+algorithm-3"
}

@test "counts and seeds begin with 1" {
	local good=$ROOT/configs/one-machine.yaml number
	for number in 0 -1 -2147483648 -2147483647 0x10 1e1 +1 nan ""; do
		refused "--seed: " virtbed simulate --seed=$number "$good"
		refused "--trials: " virtbed simulate --trials=$number "$good"
		refused "--seed: " virtbed study --seed=$number "$good"
		refused "--trials: " virtbed study --trials=$number "$good"
		refused "--repeat" virtbed run --repeat=$number "$good"
		refused "--profile-repeat" virtbed run --profile-repeat=$number "$good"
		refused "--repeat" virtbed profile --repeat=$number "$good"
	done
}

@test "a plan that cannot be read is bad input and named" {
	local text
	mkdir broken
	cp "$ROOT/configs/one-machine.yaml" broken/config.yaml
	refused "broken/plan.json" virtbed run broken/config.yaml --resume --out broken
	for text in rubbish '{}' '{"experiment": "x", "api": "a", "estimates": "given", "profile_repeats": 1, "repeats": -1}'; do
		echo "$text" >broken/plan.json
		refused "broken/plan.json" virtbed run broken/config.yaml --resume --out broken
	done
	echo "$text" | sed 's/-1/1/; s/}/, "limits": [2]}/' >broken/plan.json
	refused "broken/plan.json: limits" virtbed run broken/config.yaml --resume --out broken
}

@test "results that do not arrive are a failure" {
	local arguments
	[ -c /dev/full ] || skip "no /dev/full"
	while read -r arguments; do
		run -1 --separate-stderr sh -c "virtbed $arguments >/dev/full"
		[[ $stderr == *"cannot write to standard output"* ]]
		[ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
	done <<-END
		policies
		policies --json
		--help
		simulate --help
		lab --help
		config dump $ROOT/configs/testbed-hs22.yaml
		simulate --trials 2 --json $ROOT/configs/testbed-hs22.yaml
		report $RUNS/agree/measured
	END
	run -0 --separate-stderr sh -c "virtbed config check '$ROOT/configs/none.yaml' >&- || [ \$? -eq 2 ]"
}

@test "run directories that are none are refused in one line" {
	mkdir empty noise zero sqlite
	head -c 8192 /dev/urandom >noise/run.sqlite
	: >zero/run.sqlite
	sqlite3 sqlite/run.sqlite "CREATE TABLE t (x)"
	for dir in missing empty noise zero sqlite /dev/null; do
		refused "$dir" virtbed report "$dir"
		refused "$dir" virtbed compare "$dir" "$RUNS/agree/simulated"
		refused "$dir" virtbed compare "$RUNS/agree/measured" "$dir"
	done
}

@test "a store of a newer version is refused" {
	cp -r "$RUNS/agree/measured" newer
	sqlite3 newer/run.sqlite "PRAGMA user_version = 99"
	refused "schema 99" virtbed report newer
}

@test "a truncated store is refused" {
	cp -r "$RUNS/agree/measured" cut
	truncate -s "$(($(stat -c %s cut/run.sqlite) / 2))" cut/run.sqlite
	refused "damaged or truncated" virtbed report cut
}

@test "a store whose runs did not end is refused" {
	cp -r "$RUNS/agree/measured" begun
	sqlite3 begun/run.sqlite "UPDATE run SET ended_by = NULL"
	refused "no run in it has come to its end" virtbed report begun
}

@test "runs that were cut off are left out and told" {
	cp -r "$RUNS/agree/measured" cut
	sqlite3 cut/run.sqlite "UPDATE run SET ended_by = NULL WHERE run = 1"
	virtbed report cut | grep -q "1 run left out"
}

@test "a run directory that was not written to its end says so" {
	[[ $(virtbed report "$RUNS/agree/simulated") != *"NOT COMPLETE"* ]]
	cp -r "$RUNS/agree/simulated" half
	sqlite3 half/run.sqlite "DELETE FROM meta WHERE key = 'ended_utc'"
	virtbed report half | grep -q "NOT COMPLETE"
	[ "$(virtbed report half --json | jq '[.[0].notes[] | select(test("NOT COMPLETE"))] | length')" -eq 1 ]
	virtbed compare "$RUNS/agree/measured" half | grep -q "NOT COMPLETE"
}

@test "a store in a directory that cannot be written is read" {
	[ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "no setpriv"
	cp -r "$RUNS/agree/measured" fixed
	chmod 555 fixed
	chmod 444 fixed/run.sqlite
	if [ "$(id -u)" -eq 0 ]; then
		local dir
		dir=$(mktemp -d)
		chmod 755 "$dir"
		cp -rp fixed "$dir/fixed"
		cp "$(command -v virtbed)" "$dir/virtbed"
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/virtbed" report "$dir/fixed"
		rm -rf "$dir"
	else
		run virtbed report fixed
		chmod 755 fixed
	fi
	[ "$status" -eq 0 ]
	[[ $output == *"max-upe"* ]]
}

@test "a service of others is told from none" {
	local dir as=
	if [ "$(id -u)" -eq 0 ]; then
		command -v setpriv >/dev/null || skip "no setpriv"
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	fi
	dir=$(mktemp -d)
	chmod 755 "$dir"
	mkdir "$dir/virtbed"
	cp "$(command -v virtbed)" "$dir/bin"
	cd "$dir"
	[ -z "$as" ] || chown 65534 "$dir"
	XDG_RUNTIME_DIR=$dir refused "which controller?" $as ./bin queue
	chmod 000 virtbed
	XDG_RUNTIME_DIR=$dir refused "at unix:$dir/virtbed/controller.sock, it is not open to you" $as ./bin queue
	rm -rf "$dir"
}

@test "a directory that no service was started in gets no tokens" {
	local dir as=
	if [ "$(id -u)" -eq 0 ]; then
		command -v setpriv >/dev/null || skip "no setpriv"
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	fi
	dir=$(mktemp -d)
	chmod 777 "$dir"
	mkdir -p "$dir/state/lab"
	[ -z "$as" ] || chown 65534 "$dir/state"
	cp "$(command -v virtbed)" "$dir/bin"
	cd "$dir"
	STATE_DIRECTORY=$dir/state refused "which controller?" $as ./bin token list
	STATE_DIRECTORY=$dir/state refused "which controller?" $as ./bin token create --user nobody
	[ ! -e state/tokens.json ]
	rm -rf "$dir"
}

@test "without root one line says what is missing and what works" {
	local dir arguments as=
	if [ "$(id -u)" -eq 0 ]; then
		command -v setpriv >/dev/null || skip "no setpriv"
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	fi
	dir=$(mktemp -d)
	chmod 777 "$dir"
	cp "$(command -v virtbed)" "$BUILD/local-sched/lab/virtbed-lab" "$ROOT/configs/testbed-hs22.yaml" "$dir"
	touch "$dir/manifest.json"
	cat >"$dir/lab.yaml" <<-END
		name: no-root-$BASHPID
		clusters: [{name: c, nodes: 1, cores: 1, memory_mib: 128, hosts: [{blade: b}]}]
		types: [{name: t, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 1}]
		workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
		experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
		lab: {blades: [{name: b, cpu_cores: 0.1, idle_w: 60, core_w: 100}]}
	END
	cd "$dir"
	for arguments in "lab check" "lab up lab.yaml" "profile lab.yaml"; do
		VIRTBED_LIBEXEC=$dir VIRTBED_IMAGE=$dir run -1 $as ./virtbed $arguments
		echo "$arguments: $output"
		grep -q "needs root.*what works without: virtbed simulate CONFIG" <<<"$output"
	done
	run -0 $as ./virtbed simulate testbed-hs22.yaml --trials 2
	cd /
	rm -rf "$dir" "${TMPDIR:-/tmp}/run-no-root-$BASHPID.lock"
}

@test "decide returns the actions that a simulation stored" {
	load run
	virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --trials 1 --limit 0.7 --out stored >/dev/null
	run_assert_decisions stored
}

@test "a simulation of shared hosts records the tasks of its first trial as they ran" {
	local config=$ROOT/configs/one-machine-sharing.yaml
	{
		cat "$config"
		printf 'estimates:\n'
		for type in IS.1 CG.2 IS.4; do
			printf '  - {type: %s, cluster: hosts, etc_s: 20, eec_j: 800, count: 2}\n' $type
		done
	} >shared.yaml
	virtbed simulate shared.yaml --trials 1 --out shared-runs >/dev/null
	alike=$(sqlite3 shared-runs/run.sqlite "SELECT count(*) FROM (SELECT run.utility AS whole, json_extract(detail, '\$.mean') AS said,
		sum(task.utility) AS parts, avg(max(coalesce(task.ended_s, run.ended_s) - arrival_s, 30) / 30) AS found FROM run JOIN task USING (run)
		JOIN event USING (run) WHERE kind = 'stretch' GROUP BY run)
		WHERE abs(whole - parts) < 1e-6 AND abs(said - found) < 1e-6")
	[ "$alike" = 5 ]
}

@test "decide shares hosts in time, and only where they are shared" {
	sed -n '/^    {"policy": "dynmcb8"/,/^     "down": /s/^    //p' "$ROOT/docs/reference/snapshot.md" >shared.json
	virtbed decide shared.json --json >actions.json
	[ "$(jq -c 'map([.kind, .task])' actions.json)" = '[["resume",1],["place",2],["share",0]]' ]
	[ "$(jq 'map(.yield) == [1, 0.5, 0.5]' actions.json)" = true ]
	run -0 virtbed decide shared.json --explain --policy greedy
	[[ $output == *"hosts with the lowest CPU load"* && $output == *"it is deferred"* ]]
	refused "policy \"easy\" does not fit the snapshot" virtbed decide shared.json --policy easy
	refused "policy \"dynmcb8\" takes no modifiers" virtbed decide shared.json --policy dynmcb8+drop:1
	refused "the policy \"greedy\" does not fit the configuration" \
		virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --policy greedy
	sed 's/"memory": 0.4/"memory": 1.4/' shared.json >bad.json
	refused "task 0: \"memory\" is 1.4" virtbed decide bad.json
}

@test "three pairs of runs agree, differ and are too noisy" {
	[ "$(virtbed compare --json "$RUNS/agree/measured" "$RUNS/agree/simulated" 2>/dev/null |
		jq -r .verdict)" = agree ]
	[ "$(virtbed compare --json "$RUNS/differ/measured" "$RUNS/differ/simulated" 2>/dev/null |
		jq -r .verdict)" = differ ]
	[ "$(virtbed compare --json "$RUNS/noisy/measured" "$RUNS/noisy/simulated" 2>/dev/null |
		jq -r .verdict)" = "too noisy" ]
}

@test "compare --brief says in at most ten lines what ran, which ranking holds, how sure that is and what limits it" {
	local verdict words
	for verdict in agree differ noisy; do
		run --separate-stderr virtbed compare --brief "$RUNS/$verdict/measured" "$RUNS/$verdict/simulated"
		[ "$status" -eq 0 ]
		[ ${#lines[@]} -le 10 ]
		words=${verdict/noisy/too noisy}
		grep -q "^Measured: " <<<"$output"
		grep -q "^Verdict: $words. " <<<"$output"
		grep -q "^How sure: .* pairs are decided" <<<"$output"
		grep -q "^What limits it: emulated CPUs; " <<<"$output"
		[ "$(virtbed compare --brief --json "$RUNS/$verdict/measured" "$RUNS/$verdict/simulated" 2>/dev/null |
			jq -c '[.verdict, (.lines | length <= 10), (.rankings | length > 0), (.measured.runs > 0)]')" = "[\"$words\",true,true,true]" ]
	done
	# Of two that have nothing in common it says that, beside the error.
	cp -r "$RUNS/agree/simulated" other
	sqlite3 other/run.sqlite "UPDATE run SET limit_fraction = limit_fraction / 3"
	run --separate-stderr virtbed compare --brief "$RUNS/agree/measured" other
	[ "$status" -eq 2 ]
	[[ $output == *"Verdict: none. There is no limit"* && $stderr == *"no limit at which both ran"* ]]
}

# Up to version 9 of the schema -pair was Algorithm 3, and the paper's text with +no-wait.
@test "a store from before Pair was the paper's text compares with one of today" {
	local pair=max-upt-preempt-pair
	cp -r "$RUNS/agree" mixed
	sqlite3 mixed/measured/run.sqlite "UPDATE run SET policy = '$pair' WHERE policy = 'max-upr';
		UPDATE run SET policy = '$pair+no-wait' WHERE policy = 'event-based'; PRAGMA user_version = 9"
	sqlite3 mixed/simulated/run.sqlite "UPDATE run SET policy = '$pair+algorithm-3' WHERE policy = 'max-upr';
		UPDATE run SET policy = '$pair' WHERE policy = 'event-based'"
	virtbed report mixed/measured --format json >report.json
	[ "$(jq -r '[.[0].cells[].policy] | unique | join(" ")' report.json)" = "easy max-upe $pair $pair+algorithm-3" ]
	virtbed compare --json "$RUNS/agree/measured" "$RUNS/agree/simulated" | jq '[.verdict, .ranks, .pairs]' >before
	virtbed compare --json mixed/measured mixed/simulated >after.json
	jq '[.verdict, .ranks, .pairs]' after.json |
		sed "s/$pair+algorithm-3/max-upr/; s/\"$pair\"/\"event-based\"/" >after
	[ "$(jq -r '.[0]' after)" = agree ]
	diff before after
}

@test "compare takes any two runs, in any order" {
	virtbed compare "$RUNS/agree/measured" "$RUNS/agree/simulated" >right 2>/dev/null
	virtbed compare "$RUNS/agree/simulated" "$RUNS/agree/measured" >turned 2>/dev/null
	cmp right turned
	cp -r "$RUNS/agree" monday
	cp -r "$RUNS/differ" tuesday
	virtbed compare monday/measured tuesday/measured >measured
	grep -q "^Kendall's rank correlation of utilities, monday against tuesday" measured
	grep -q "^Verdict: agree: of 12 pairs .* have the same order in monday and tuesday, 0 the opposite one" measured
	[ "$(virtbed compare --json monday/simulated tuesday/simulated |
		jq -r '[.verdict, .a.label, .b.kind, (.pairs[0].a.from), has("simulated_on")] | join(" ")')" = "differ monday simulated trials false" ]
	run -0 --separate-stderr virtbed compare --brief monday/measured tuesday/measured
	[ ${#lines[@]} -le 10 ]
	[[ ${lines[0]} == "monday, measured: 32 runs of "* && ${lines[1]} == "tuesday, measured: "* ]]
}

# A measured directory whose runs are single, with a configuration, and no noise on record.
make_single() {
	virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --trials 1 --out "$1/measured" >/dev/null
	virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --trials 3 --out "$1/simulated" >/dev/null
	sqlite3 "$1/measured/run.sqlite" "UPDATE meta SET value = 'measured' WHERE key = 'kind';
		UPDATE run SET measured = 1;
		UPDATE task SET exec_s = exec_s * (1 + 0.1 * ((task * 7919) % 13 - 6) / 6.0)"
}

@test "compare simulates nothing unless it is asked to" {
	make_single .
	run -0 --separate-stderr virtbed compare --json measured simulated
	[[ $stderr == *"measured: the noise of measuring again is not on record, so single runs are judged by their tasks, and the simulation is judged by its trials; with --simulate, "* ]]
	[ "$(jq -r '[.simulated_on, .pairs[0].measured.from] | join(", ")' <<<"$output")" = "trials, tasks" ]
	run -0 --separate-stderr virtbed compare --json --simulate measured simulated
	[ -z "$stderr" ]
	[ "$(jq -r '[.simulated_on, .pairs[0].measured.from] | join(", ")' <<<"$output")" = "same arrivals, simulated repeats" ]
	[ "$(jq -c '.deviations | [(.rows | length), (.medians | length), .rows[0].makespan_s.deviation]' <<<"$output")" = "[12,4,0]" ]
	# A configuration that this build cannot read is told.
	echo "nonsense: 1" >>measured/config.yaml
	virtbed compare measured simulated 2>/dev/null | grep -q "! this build cannot read its configuration.*nonsense"
}

@test "ratios refer to the policy that --baseline names" {
	local config=$ROOT/configs/testbed-hs22.yaml
	[ "$(virtbed simulate "$config" --trials 3 --limit 1 --json | jq -r '[.[].ratio_to] | unique | join(" ")')" = max-upr ]
	[ "$(virtbed simulate "$config" --trials 3 --limit 1 --json --baseline easy |
		jq -r '.[0] | [.ratio_to, .policy, .utility_ratio.mean] | join(" ")')" = "easy easy 1" ]
	refused '--baseline: "pam" is not among the policies: easy, ' virtbed simulate "$config" --trials 3 --baseline pam
	virtbed compare --baseline easy "$RUNS/agree/measured" "$RUNS/agree/simulated" 2>/dev/null >text
	grep -A 3 "^Relative to easy" text | tail -n 1 | grep -q "1.000"
	[ "$(virtbed compare --json --baseline easy "$RUNS/agree/measured" "$RUNS/agree/simulated" 2>/dev/null |
		jq -r '.baseline | [.policy, (.ratios | length), .ratios[0].measured.utility.ratio] | join(" ")')" = "easy 8 1" ]
	virtbed compare --json "$RUNS/agree/measured" "$RUNS/agree/simulated" 2>/dev/null | jq -e 'has("baseline") | not'
	refused '"pam" is not among the policies that both sides ran: easy, ' \
		virtbed compare --baseline pam "$RUNS/agree/measured" "$RUNS/agree/simulated"
	refused "--baseline: its table is not of --brief" \
		virtbed compare --brief --baseline easy "$RUNS/agree/measured" "$RUNS/agree/simulated"
}

@test "tasks that a file gives are simulated, once, and their hash is recorded" {
	sed '/^workload:/,/^experiment:/c\workload: {arrivals: tasks.csv}\n\nexperiment:' \
		"$ROOT/configs/testbed-hs22.yaml" >config.yaml
	printf '%s\n' arrival_s,type,utility 7,MG.8,2 0.5,IS.8,4 60,IS.8,1 >tasks.csv
	virtbed simulate config.yaml --limit 1 --policy easy --json --out sim >sim.json
	[ "$(jq -c '.[0] | [.trials, .tasks_arrived_mean, .tasks_completed_mean]' sim.json)" = "[1,3,3]" ]
	[ "$(sqlite3 sim/run.sqlite "SELECT group_concat(type || ' ' || arrival_s || ' ' || utility_max, ', ') FROM task")" = \
		"IS.8 0.5 4.0, MG.8 7.0 2.0, IS.8 60.0 1.0" ]
	# The saved configuration has the tasks: the file may go.
	rm tasks.csv
	virtbed simulate sim/config.yaml --limit 1 --policy easy --out again >/dev/null
	local hash
	hash=$(sqlite3 sim/run.sqlite "SELECT value FROM meta WHERE key = 'tasks_sha256'")
	[ ${#hash} -eq 64 ]
	[ "$hash" = "$(printf '%s\n' 7,MG.8,2 0.5,IS.8,4 60,IS.8,1 | sha256sum | cut -c -64)" ]
	[ "$hash" = "$(virtbed report again --format json | jq -r '.[0].facts.tasks_sha256')" ]
	refused "workload.arrivals: './tasks.csv' cannot be read" virtbed simulate config.yaml
	echo "1,IS.9,1" >tasks.csv
	refused "'tasks.csv', line 1: type: no type 'IS.9' in types" virtbed simulate config.yaml
	refused "--trials: 5 of the same tasks" virtbed simulate sim/config.yaml --trials 5
	refused "a study draws a workload for each trial" virtbed study sim/config.yaml --out study
	# More tasks than a saved configuration can have leave no directory.
	seq -f "%g,IS.8,1" 100000 >tasks.csv
	refused "a configuration of more than 4 MiB is not read again" \
		virtbed simulate config.yaml --limit 1 --policy easy --out large
	[ ! -e large ]
}

@test "headings say what is emulated" {
	run --separate-stderr virtbed compare "$RUNS/agree/measured" "$RUNS/agree/simulated"
	[[ $output == *TCG* && $output == *quotas* && $output == *"from a model"* ]]
	run virtbed report "$RUNS/agree/measured"
	[[ $output == *TCG* && $output == *quotas* && $output == *"from a model"* ]]
	[[ $output == *"over 4 repeats of one workload"* ]]
	run virtbed report "$RUNS/agree/simulated"
	[[ $output != *TCG* && $output == *"over 50 trials, a workload each"* ]]
}

@test "table, CSV and JSON tell the same utilities" {
	virtbed report "$RUNS/agree/measured" --format csv >report.csv
	virtbed report "$RUNS/agree/measured" --format json >report.json
	[ "$(wc -l <report.csv)" -eq 9 ]
	cut -d, -f7 report.csv | tail -n +2 | awk '{ printf "%.6f\n", $1 }' >from-csv
	jq -r '.[0].cells[].utility_mean' report.json | awk '{ printf "%.6f\n", $1 }' >from-json
	cmp from-csv from-json
	while read -r utility; do
		virtbed report "$RUNS/agree/measured" | grep -q -- " $(printf %.2f "$utility") "
	done <from-json
}

@test "a run is a trace that can be replayed" {
	refused "choose one of the" virtbed report "$RUNS/agree/measured" --format swf
	refused "no run number" virtbed report "$RUNS/agree/measured" --format swf --run 1,2
	virtbed report "$RUNS/agree/measured" --format swf --run 2 >run.swf
	grep -q "^; Note: run 2, measured" run.swf
	virtbed replay run.swf --policy easy --out jobs.csv
	[ "$(wc -l <jobs.csv)" -gt 1 ]
}

@test "a run and a replay are schedules of Batsim" {
	refused "a schedule is one run of one directory" virtbed report "$RUNS/agree/measured" --format batsim
	virtbed report "$RUNS/agree/measured" --format batsim --run 2 --out batsim >paths
	[ "$(cat paths)" = "batsim/jobs.csv
batsim/schedule.json" ]
	head -1 batsim/jobs.csv >names
	# a task that ended is in the trace of the run too, with the same nodes
	virtbed report "$RUNS/agree/measured" --format swf --run 2 | awk '!/^;/ && $11 == 1' >ended
	[ "$(grep -c COMPLETED_SUCCESSFULLY batsim/jobs.csv)" -eq "$(wc -l <ended)" ]
	[ "$(jq .nb_jobs_success batsim/schedule.json)" -eq "$(wc -l <ended)" ]
	[ "$(jq '.nb_computing_machines > 0 and .time_computing > 0 and .consumed_joules > 0' batsim/schedule.json)" = true ]
	virtbed replay "$ROOT/tests/unit/replay/traces/synthetic.swf" --policy saf+easy --batsim replayed --json >summary
	cmp <(head -1 replayed/jobs.csv) names
	for key in nb_jobs nb_jobs_finished nb_jobs_killed mean_waiting_time mean_slowdown max_turnaround_time; do
		[ "$(jq ".[0].$key * 1e6 | round" summary)" = "$(jq ".$key * 1e6 | round" replayed/schedule.json)" ]
	done
	refused "--batsim: give one --policy" virtbed replay "$ROOT/tests/unit/replay/traces/synthetic.swf" --batsim replayed
}

@test "an unknown format is refused with the known ones" {
	refused "known: table csv json swf batsim png svg pdf html" virtbed report "$RUNS/agree/measured" --format gif
}

@test "plots are drawn, and can be drawn again from their script" {
	command -v gnuplot >/dev/null || skip "no gnuplot"
	run virtbed report "$RUNS/agree/measured" "$RUNS/agree/simulated" --format png --chart utility --out "it's here"
	[ "$output" = "it's here/utility.png" ]
	[ "$(head -c 4 "it's here/utility.png" | tail -c 3)" = PNG ]
	virtbed report "$RUNS/agree/measured" "$RUNS/agree/simulated" --format svg --out "it's here"
	grep -q "</svg>" "it's here/utility.svg"
	grep -q "max-upe, simulated" "it's here/utility.svg"
	rm "it's here/utility.png"
	cd "it's here"
	for script in *.gp; do
		gnuplot "$script"
		[ -s "${script%.gp}.png" ]
		[ "$(wc -l <"${script%.gp}.csv")" -gt 1 ]
	done
	[ -s measured-gantt-1-easy-100.png ]
	[ -s measured-utility-time.png ]
}

@test "the data of one chart can be had alone" {
	virtbed report "$RUNS/agree/measured" --format csv --chart gantt --run 2 >gantt.csv
	[ "$(head -n 1 gantt.csv)" = "task,type,state,cluster,node,row,start_s,end_s,utility,utility_max" ]
	[ "$(wc -l <gantt.csv)" -gt 20 ]
	refused "choose one" virtbed report "$RUNS/agree/measured" --format csv --chart gantt
	refused "known: utility estimates" virtbed report "$RUNS/agree/measured" --format csv --chart pie
	refused "no run 4711 that ended; known: 1 2 3" virtbed report "$RUNS/agree/measured" --format svg --run 4711
	refused "run numbers" virtbed report "$RUNS/agree/measured" --format svg --run first
}

@test "options that would do nothing are refused" {
	local traces=$ROOT/tests/unit/replay/traces
	refused "are for --live" virtbed energy --count 3
	refused "are for --live" virtbed energy --interval 2
	refused "are for --live" virtbed energy --lab x
	refused "leave it out with --once" virtbed top --once --interval 2
	refused "leave it out with --json" virtbed top --json --interval 2
	refused "give one state at least" virtbed queue --state ""
	refused "are for \"create\"" virtbed token list --role viewer
	refused "--rebuild is for --policy conservative" virtbed replay --policy easy --rebuild "$traces/synthetic.swf"
	refused "--keep-reservations is for" virtbed replay --policy fcfs --keep-reservations "$traces/synthetic.swf"
	refused "down does nothing with \"--json\"" virtbed lab down --name x --json
	refused "check does nothing with \"--probe\"" virtbed lab check --probe f
	refused "probe does nothing with \"x\"" virtbed lab probe x
	refused "--pet: " virtbed profile "$ROOT/configs/simulated.yaml" --pet pet.yaml
	refused "--profile-repeat: nothing is profiled" virtbed run "$ROOT/configs/simulated.yaml" --profile-repeat 2
}

@test "what is no file, or has no end, is told at once wherever a file is named" {
	local good=$ROOT/configs/simulated.yaml what
	mkfifo pipe
	mkdir -p directory state
	mkfifo state/run.sqlite
	ulimit -v 8000000
	for what in /dev/zero pipe directory; do
		refused "'$what' cannot be read: it is a" timeout 60 virtbed config check "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed simulate "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed simulate "$good" --estimates "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed decide "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed replay "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed study "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed serve "$what"
		refused "'$what' cannot be read: it is a" timeout 60 virtbed submit --script "$what" --time 5s
		refused "'$what' cannot be read: it is a" timeout 60 virtbed submit --script "$good" -i "$what" --time 5s
		VIRTBED_CA_FILE=$what refused "VIRTBED_CA_FILE: '$what' cannot be read" timeout 60 virtbed queue --uri https://127.0.0.1:1
	done
	refused "it has more than 256 MiB" timeout 60 virtbed decide - </dev/zero
	refused "run.sqlite" timeout 60 virtbed report state
	refused "there is a run in it already" timeout 60 virtbed simulate "$good" --trials 1 --out state
	truncate -s 1T endless
	refused "'endless' cannot be read: it has more than 4 MiB" timeout 60 virtbed config check endless
	refused "'endless' cannot be read: it has more than 704 KiB" timeout 60 virtbed submit --script endless --time 5s
	refused "'endless' cannot be read: it has more than 256 MiB" timeout 60 virtbed decide endless
	refused "longer than" timeout 60 virtbed replay endless
}

@test "report refuses what names nothing, and what a format does nothing with" {
	local format
	for format in table json csv swf png html; do
		refused "unknown chart \"nosuch\"; known: utility" virtbed report "$RUNS/agree/measured" --format $format --chart nosuch
		refused "unknown chart \"\"" virtbed report "$RUNS/agree/measured" --format $format --chart ""
		refused "list of run numbers" virtbed report "$RUNS/agree/measured" --format $format --run 1-x
		refused "list of run numbers" virtbed report "$RUNS/agree/measured" --format $format --run ""
		refused "no run 99 that ended; known: 1 2 3" virtbed report "$RUNS/agree/measured" --format $format --run 99
		refused "no table \"nosuch\"; known: policies" virtbed report "$RUNS/agree/measured" --format $format --table nosuch
	done
	for format in table json csv; do
		refused "--run is for" virtbed report "$RUNS/agree/measured" --format $format --run 1
	done
	for format in table json swf; do
		refused "--chart is for" virtbed report "$RUNS/agree/measured" --format $format --chart utility
		refused "--table is for" virtbed report "$RUNS/agree/measured" --format $format --table policies
	done
	refused "--table is for" virtbed report "$RUNS/agree/measured" --format csv --chart utility --table policies
	refused "give --json or --format png" virtbed report "$RUNS/agree/measured" --json --format png
}

@test "a page holds everything and loads nothing" {
	command -v gnuplot >/dev/null || skip "no gnuplot"
	run virtbed report "$RUNS/agree/measured" "$RUNS/agree/simulated" --format html --out page
	[ "$output" = page/index.html ]
	head -n 1 page/index.html | grep -q "<!DOCTYPE html>"
	tail -n 1 page/index.html | grep -q "</html>"
	grep -q "prefers-color-scheme:dark" page/index.html
	grep -q 'name="viewport"' page/index.html
	# Nothing is fetched: addresses are names of namespaces, and links lead to files beside the page.
	[ -z "$(grep -oE '(src|href)="[^"#][^"]*"' page/index.html | grep -v '="plots/')" ]
	[ -z "$(grep -oE '@import|<link|<script|<img|<iframe|url\(["a-z]' page/index.html)" ]
	[ "$(grep -c '<svg' page/index.html)" -eq "$(ls page/plots/*.gp | wc -l)" ]
	[ "$(grep -c '<figcaption>' page/index.html)" -eq "$(grep -c '<svg' page/index.html)" ]
	[ "$(grep -c '<caption>' page/index.html)" -eq "$(grep -c '<table>' page/index.html)" ]
	grep -q "watts come from a model" page/index.html
	for file in $(grep -oE 'href="plots/[^"]*"' page/index.html | cut -d'"' -f2); do
		[ -s "page/$file" ]
	done
	# No id twice.
	[ -z "$(grep -oE " id=['\"][^'\"]*" page/index.html | sort | uniq -d)" ]
}

@test "odd text in a store does no harm to a page" {
	command -v gnuplot >/dev/null || skip "no gnuplot"
	cp -r "$RUNS/agree/measured" odd
	sqlite3 odd/run.sqlite "UPDATE run SET policy = 'a''b<script>' || char(10) || '\`id\`' WHERE policy = 'easy';
		UPDATE task SET type = '<b>' || char(10) || 'x''; system \"touch pwned\"'"
	virtbed report odd --format html
	[ -z "$(grep "<script>" odd/index.html)" ]
	[ ! -e pwned ] && [ ! -e odd/plots/pwned ]
}

@test "a plot that cannot be written fails with a reason" {
	[ -e /proc/self ] || skip "no /proc"
	run -1 --separate-stderr virtbed report "$RUNS/agree/measured" --format png --out /proc/plots
	[[ $stderr == *"/proc/plots"* ]]
}

@test "the completion script completes" {
	virtbed completion bash >completion
	diff completion "$ROOT/configs/completion/virtbed"
	[ "$(bash -c '. ./completion; COMP_WORDS=(virtbed si); COMP_CWORD=1; _virtbed; echo "${COMPREPLY[@]}"')" = simulate ]
	[ "$(bash -c '. ./completion; COMP_WORDS=(virtbed report --f); COMP_CWORD=2; _virtbed; echo "${COMPREPLY[@]}"')" = --format ]
	[ "$(bash -c '. ./completion; COMP_WORDS=(virtbed report --chart g); COMP_CWORD=3; _virtbed; echo "${COMPREPLY[@]}"')" = gantt ]
}

@test "the manual knows every command and every option" {
	for command in $(virtbed --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		sed -n "/^\.SS virtbed $command/,/^\.S[SH]/p" "$ROOT/docs/reference/virtbed.1" | tr -d '\\' >section
		[ -s section ]
		for option in $(virtbed "$command" --help | grep -oE -- '[[ ]--[a-z][a-z-]*' | tr -d '[ ' | sort -u); do
			[ "$option" = --help ] || grep -qF -- "$option" section ||
				{ echo "$command $option is missing"; return 1; }
		done
		for option in $(virtbed "$command" --help | sed -n 's/^  \(-[a-gi-z]\), --.*/\1/p'); do
			grep -qE -- "^\.B[RI] $option " section ||
				{ echo "$command $option is missing"; return 1; }
		done
	done
}

# The words that begin with -- in the OPTIONS of the page of daemon $1, or in its help.
page_options() {
	sed -n '/^\.SH OPTIONS/,/^\.SH SIGNALS/p' "$ROOT/docs/reference/$1.8" | tr -d '\\' |
		sed -n 's/^\.B \(--[a-z-]*\).*/\1/p' | sort
}

help_options() {
	"$BUILD/$1" --help | grep -oE -- '[ ]--[a-z][a-z-]*' | tr -d ' ' | sort -u
}

@test "the pages of the daemons know every option, and no other" {
	help_options controller/api/virtbed-controller >said
	page_options virtbed-controller | diff - said
	help_options local-sched/virtbed-local-sched >said
	page_options virtbed-local-sched | diff - said
}

@test "a local scheduler says where a value that makes no sense is from" {
	local_sched=("$BUILD/local-sched/virtbed-local-sched" --config "$ROOT/configs/simulated.yaml" --cluster s1
		--listen unix:/nonexistent/socket --state state)
	refused "VIRTBED_BOOT_TIMEOUT: '2d'" env VIRTBED_BOOT_TIMEOUT=2d "${local_sched[@]}"
	refused "--boot-timeout: '0'" env VIRTBED_BOOT_TIMEOUT=2d "${local_sched[@]}" --boot-timeout 0
	refused "VIRTBED_VIRT_TYPE: 'xen'" env VIRTBED_VIRT_TYPE=xen "${local_sched[@]}"
	refused "--virt-type: ''" "${local_sched[@]}" --virt-type ''
}

@test "the manual knows every variable of the environment" {
	grep -rhoE '(getenv|managed_dir)\("[A-Z_]+"' --include=*.c "$ROOT"/common "$ROOT"/controller "$ROOT"/local-sched |
		sed 's/.*"\(.*\)"/\1/' | sort -u >variables
	grep -q VIRTBED_URI variables
	for variable in $(grep -vx PATH variables); do
		grep -qw "$variable" "$ROOT"/docs/reference/virtbed*.[158] || { echo "$variable is missing"; return 1; }
	done
}

@test "the pages of the manual are set without a warning, and refer to pages that there are" {
	for page in "$ROOT"/docs/reference/virtbed*.[158]; do
		for other in $(grep -oE '^\.BR virtbed[^ ]* \([158]\)' "$page" | sed 's/^\.BR \(.*\) (\(.\))/\1.\2/' | tr -d '\\'); do
			[ -e "$ROOT/docs/reference/$other" ] || { echo "$page: no $other"; return 1; }
		done
		command -v man >/dev/null || continue
		[ -z "$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$page" 2>&1 >/dev/null)" ]
	done
}

@test "a simulation says what its estimates rest on" {
	cp "$ROOT/configs/testbed-hs22.yaml" "$RUNS/agree/measured/config.yaml"
	virtbed simulate "$RUNS/agree/measured/config.yaml" --trials 2 --out emulated | grep -q "estimates: .*TCG"
	virtbed report emulated | grep -q "estimates: P-states are CPU quotas"
	virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --trials 2 --out given >words
	run ! grep -q "TCG" words
	rm "$RUNS/agree/measured/config.yaml"
}

@test "a full disk is told in one line and fails" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
	mkdir tiny
	mount -t tmpfs -o size=200k tmpfs tiny || skip "cannot mount"
	run -1 --separate-stderr virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --trials 2000 --out tiny/run
	umount tiny
	[[ $stderr == *"the disk is full"* ]]
	[ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
}

# compiled FILE OF INCLUDES: FILE as the build compiles controller/sched/policies/OF, into FILE.o; includes from INCLUDES first
compiled() {
	local command
	command=$(jq -r --arg file "/policies/$2" '[.[] | select(.file | endswith($file))][0].command' \
		"$BUILD/compile_commands.json")
	command=${command%% -MD *}
	(cd "$BUILD" && eval "${command/ -I/ -I$3 -I} -o $1.o -c $1")
}

@test "the policy in C of the first day is taken by the build and keeps the rules" {
	local tree=$BATS_TEST_TMPDIR/tree target=tests/unit/sched/test-sched-conformance
	local policies=$tree/controller/sched/policies name
	mkdir -p "$policies"
	sed -n '/^```c .*\/least_energy.c/,/^```$/p' "$ROOT/docs/first-day/policy-author.md" |
		sed '/^```/d' >"$policies/least_energy.c"
	cp "$ROOT/controller/sched/policies/"registry.* "$policies"
	echo 'POLICY(least_energy)' >>"$policies/registry.def"
	compiled "$policies/least_energy.c" easy.c "$tree"
	compiled "$policies/registry.c" registry.c "$tree"
	(cd "$BUILD" && eval "$(ninja -t commands $target | tail -n 1 |
		sed "s| -o $target | -o $tree/conformance $policies/least_energy.c.o $policies/registry.c.o |")")
	"$tree/conformance" >results
	name=$(sed -n 's/.*\.name = "\(.*\)",/\1/p' "$policies/least_energy.c")
	grep "^ok .*/conformance/$name " results
	run ! grep "^not ok" results
}
