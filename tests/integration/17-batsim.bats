#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Schedulers of Batsim as policies, and policies as its schedulers (docs/reference/batsim.md). Both are ours: neither was
# tried with Batsim itself.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	run_set_up_scripted
	# A place that the sandbox's user can read.
	place=$(mktemp -d)
	chmod 755 "$place"
	cp "$virtbed" "$place/virtbed"
	cp "$run_build/controller/plugin/batsim/libvirtbed-batsim.so" "$place/"
	"$virtbed" policy batsim easy --socket nowhere 2>&1 | grep -q "without libzmq" && skip "built without libzmq"
	process="$place/virtbed policy batsim easy --socket {socket}"
}

teardown() {
	run_end_all "${run_name:-none}"
	rm -rf "${place:?}"
}

# One cluster, where starts that are planned fall on mapping events: one.yaml
write_one_cluster() {
	cat >one.yaml <<'END'
name: one
clusters:
  - {name: c1, nodes: 16, cores: 1, memory_mib: 1024, hosts: [{name: h1, uri: "test:///default", meter: {kind: ipmi,
      address: 127.0.0.1, password_file: /dev/null}}]}
types:
  - {name: IS.8, benchmark: is, class: C, cores: 8, repetitions: 1, memory_mib: 2048, share: 0.4}
  - {name: MG.12, benchmark: mg, class: C, cores: 12, repetitions: 1, memory_mib: 3584, share: 0.3}
  - {name: CG.4, benchmark: cg, class: C, cores: 4, repetitions: 1, memory_mib: 3584, share: 0.3}
estimates:
  - {type: IS.8, cluster: c1, etc_s: 1700, eec_j: 25962}
  - {type: MG.12, cluster: c1, etc_s: 1100, eec_j: 27500}
  - {type: CG.4, cluster: c1, etc_s: 700, eec_j: 34398}
workload: {arrival_mean_s: 500, duration_s: 10800, seed: 1, utility_max: [1, 2, 3, 4], constant_until: 300, zero_at: 400}
experiment: {policies: [easy], limits: [1], budget_j: 10000000, mapping_interval_s: 50, duration_s: 40000, baseline_s: 60}
END
}

# The figures of a policy in what `simulate --json` printed. figures POLICY
figures() {
	jq -cS --arg policy "$1" '[.[] | select(.policy == $policy) | del(.policy)]' results.json
}

@test "easy through both doors of Batsim has the results of easy" {
	write_one_cluster
	"$virtbed" simulate one.yaml --trials 8 --json \
		--policy "easy,fcfs,batsim:$process,batsim:cluster=c1 init= $process,batsim-edc:$place/libvirtbed-batsim.so easy" \
		>results.json
	figures easy
	[ "$(figures easy)" = "$(figures "batsim:$process")" ]
	[ "$(figures easy)" = "$(figures "batsim:cluster=c1 init= $process")" ]
	[ "$(figures easy)" = "$(figures "batsim-edc:$place/libvirtbed-batsim.so easy")" ]
	[ "$(figures easy)" != "$(figures fcfs)" ] # backfilling matters here
	[ "$(figures easy)" != "[]" ]
	[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'virtbed-batsim-*' -newer one.yaml)" ]
}

@test "a scheduler of Batsim that cannot decide is refused with the reason" {
	write_one_cluster
	run "$virtbed" simulate one.yaml --trials 1 --policy "batsim:$place/virtbed policy batsim easy"
	[ "$status" -eq 2 ]
	[[ "$output" == *"has no {socket}"* ]]
	run "$virtbed" simulate one.yaml --trials 1 --policy "batsim:/nowhere {socket}"
	[ "$status" -eq 2 ]
	[[ "$output" == *"/nowhere"*"No such file"* ]]
	run "$virtbed" simulate one.yaml --trials 1 --policy "batsim:/bin/false {socket}"
	[ "$status" -eq 1 ]
	[[ "$output" == *'the scheduler "/bin/false" has ended without an answer'* ]]
	run "$virtbed" simulate one.yaml --trials 1 --policy "batsim:init= /bin/false {socket}"
	[ "$status" -eq 2 ]
	[[ "$output" == *'the scheduler "/bin/false" has ended without an answer'* ]]
	run "$virtbed" simulate "$config" --estimates "$estimates" --trials 1 --policy "batsim:$process"
	[ "$status" -eq 2 ]
	[[ "$output" == *'several clusters: "c1" "c2"; name one: "cluster=NAME"'* ]]
	run "$virtbed" policy batsim nonsense
	[ "$status" -eq 2 ]
	run "$virtbed" policy batsim easy --socket nowhere
	[ "$status" -eq 1 ]
	[[ "$output" == *'cannot listen at "nowhere"'* ]]
}

# Has virtbed's programs where the sandbox's user can execute them. use_open_programs
use_open_programs() {
	cp "$run_build/controller/plugin/batsim/virtbed-policy-batsim" "$place/"
	cp -P "$VIRTBED_LIBEXEC"/virtbed-{local-sched,controller,policy-host} "$place/"
	export VIRTBED_LIBEXEC=$place
}

@test "schedulers of Batsim decide in a measured run, in the sandbox" {
	use_open_programs
	# The programs are not to be late on a machine that is busy otherwise.
	sed -i 's|^workload:|plugin: {deadline_s: 30}\n&|; s/duration_s: 8,/duration_s: 3,/; s/duration_s: 12/duration_s: 5/' "$config"
	run_start run "$config" --estimates "$estimates" --limit 1 --out "$out" \
		--policy "batsim:cluster=c1 $process,batsim-edc:cluster=c1 $place/libvirtbed-batsim.so easy"
	run_wait
	cat "$run_words"
	[ "$run_status" -eq 0 ]
	run_query "$out" "SELECT detail FROM event WHERE kind = 'fallback'"
	[ "$(run_query "$out" "SELECT count(*) FROM event WHERE kind = 'fallback'")" -eq 0 ]
	run_query "$out" "SELECT detail FROM event WHERE kind = 'outside'" | jq -e '.events == .used and .events > 1'
	[ "$(run_query "$out" "SELECT count(*) FROM task WHERE state = 'completed'")" -gt 1 ]
	run "$virtbed" rerun "$out"
	echo "$output"
	[ "$(grep -c "all as stored" <<<"$output")" -eq 2 ]
}

@test "policy check and policy batsim refuse each other's options" {
	run "$virtbed" policy check easy --socket tcp://127.0.0.1:1
	[ "$status" -eq 2 ]
	[[ "$output" == *"are options of batsim"* ]]
	run "$virtbed" policy batsim easy --json
	[ "$status" -eq 2 ]
	[[ "$output" == *"takes --socket and --immediate alone"* ]]
}

@test "a scheduler of Batsim in the sandbox listens on its socket, and reaches no other" {
	write_one_cluster
	use_open_programs
	mkdir -m 1777 "$place/said"
	cat >"$place/tries" <<'END'
#!/usr/bin/python3
import os, socket, sys

def tried(what):
    try:
        what()
        return "done"
    except OSError as error:
        return type(error).__name__

stream = socket.socket(socket.AF_UNIX)
with open(sys.argv[1], "a") as said:
    print(tried(lambda: stream.connect(sys.argv[2])), tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),
          tried(lambda: socket.socket(socket.AF_INET)), tried(socket.socketpair), file=said)
os.execv(sys.argv[3], sys.argv[3:])
END
	chmod 755 "$place/tries"
	cat >listens.py <<'END'
import os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
server.listen()
signal.pause()
END
	python3 listens.py "$place/open" 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/pids"
	local boxed="batsim:$place/tries $place/said/said $place/open $process"
	within 20 test -S "$place/open"
	"$virtbed" simulate one.yaml --trials 1 --json --policy "easy,$boxed" >results.json
	[ "$(cat "$place/said/said")" = "done done done done" ]
	rm "$place/said/said"
	sed 's/^workload:/plugin: {sandbox_simulations: yes}\n&/' one.yaml >boxed.yaml
	"$virtbed" simulate boxed.yaml --trials 1 --json --policy "easy,$boxed" >results.json
	cat "$place/said/said"
	[ "$(cat "$place/said/said")" = "PermissionError PermissionError PermissionError done" ]
	[ "$(figures easy)" = "$(figures "$boxed")" ]
}
