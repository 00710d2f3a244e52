#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A service is started again where something is wrong with its record, its configuration or a local scheduler:
# it starts, says what is wrong, and everything else continues.

load lab
load run

setup() {
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	export VIRTBED_URI=unix:$socket
	cd "$BATS_TEST_TMPDIR" || return 1
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
	sed -i 's/^workload:/service: {mapping_interval_s: 60}\n&/; s/repetitions: 5/repetitions: 1/' "$config"
}

teardown() {
	run_end_all "$run_name"
}

serve() {
	run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket" "$@"
	run_wait_for "serving at unix:$socket" 120
}

stop_service() {
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
}

task() {
	"$virtbed" queue --json "$1" | jq -r ".tasks[0].$2"
}

task_is() {
	[ "$(task "$1" state)" = "$2" ]
}

# The state of a task in the store.
stored() {
	run_query "$state" "SELECT state FROM task WHERE task = $1"
}

break_store() {
	sqlite3 "$state/run.sqlite" "$1"
}

@test "a record that makes no sense is quarantined and named, and all others continue" {
	serve
	"$virtbed" submit IS.S.2 --count 4 --hold
	"$virtbed" submit IS.S.2 --count 2 --wait
	stop_service
	break_store "UPDATE task SET state = 'rubbish' WHERE task = 1;
		UPDATE submission SET utility_max = -1 WHERE task = 2;
		DELETE FROM submission WHERE task = 3; DELETE FROM task WHERE task = 3"
	serve
	run_wait_for "task 1 is quarantined: 'rubbish' is not a state"
	run_wait_for "task 2 is quarantined: its submission is invalid"
	run_wait_for "task 3 is quarantined: its submission is missing"
	for number in 1 2 3; do task_is $number quarantined; done
	task_is 0 waiting
	task_is 4 completed
	[ "$(stored 1)" = rubbish ]
	"$virtbed" queue | grep -E "^ *1 .*quarantined"
	"$virtbed" show 1 | grep "is not a state of a task"
	"$virtbed" submit IS.S.2 --wait
	run "$virtbed" hold 1
	[ "$status" -eq 1 ]
	# A user decides: started again, or ended.
	"$virtbed" release 1
	within 60 task_is 1 completed
	"$virtbed" cancel 2 3
	task_is 3 killed
	[ "$(run_query "$state" "SELECT count(*) FROM event WHERE kind = 'quarantined'")" -eq 3 ]
	stop_service
	serve
	task_is 1 completed
	task_is 2 killed
	[ -z "$("$virtbed" queue --state quarantined --json | jq -r '.tasks[].task')" ]
}

@test "numbers that no task can have are named, and no reason not to start" {
	serve
	"$virtbed" submit IS.S.2 --count 3 --hold
	stop_service
	for number in -1 4294967295 4294967297; do
		break_store "CREATE TEMP TABLE one AS SELECT * FROM submission WHERE task = 0;
			UPDATE one SET task = $number; INSERT INTO submission SELECT * FROM one"
	done
	break_store "CREATE TEMP TABLE one AS SELECT * FROM task WHERE task = 0;
		UPDATE one SET task = 4294967294; INSERT INTO task SELECT * FROM one;
		UPDATE submission SET count = 0 WHERE task = 1; UPDATE submission SET count = 4294967295 WHERE task = 2"
	serve
	run_wait_for "no task can have these numbers: -1, 4294967294, 4294967295, 4294967297 "
	run_wait_for "task 1 is quarantined: its submission is invalid"
	run_wait_for "task 2 is quarantined: its submission is invalid"
	task_is 0 waiting
	[ "$("$virtbed" submit IS.S.2 --wait | grep -o "[0-9]*" | head -1)" = 3 ]
	task_is 3 completed
	stop_service
}

@test "a cluster, a node or a type that is gone keeps what was there, and is no reason not to start" {
	sed -i 's/repetitions: 10/repetitions: 60/' "$config" # half a minute, so that it still runs when all are killed
	serve
	"$virtbed" drain --reason test c1/0-3
	"$virtbed" submit IS.S.2 --wait # ends on c2, which goes away
	"$virtbed" submit CG.S.2        # runs there meanwhile
	within 60 task_is 1 running
	"$virtbed" submit IS.S.2 --hold
	# No process has the time to record that all ends.
	controller=$(run_process virtbed-controller "$state")
	kill -STOP "$controller"
	kill -9 "$run_pid" "$controller"
	within 60 run_assert_nobody "$state"
	sed -i 's/repetitions: 60/repetitions: 10/' "$config"
	cp "$config" "$config.whole"
	# Without c2, and without the type of tasks 0 and 2.
	sed -i '/^  - name: c2/,/^types:/{/^types:/!d}; /IS.S.2/d; s/share: 0.4/share: 1/' "$config"
	sed -i '/c2\|IS.S.2/d' "$estimates"
	serve
	run_wait_for "task 1 is quarantined: the configuration has no cluster 'c2'"
	run_wait_for "task 2 is quarantined: the configuration has no type 'IS.S.2'"
	task_is 0 completed
	[ "$(task 0 type)/$(task 2 type)" = IS.S.2/IS.S.2 ]
	run "$virtbed" release 2
	[ "$status" -eq 1 ]
	[[ $output == *"does not have its type"* ]]
	"$virtbed" undrain c1/0-3
	"$virtbed" submit CG.S.2 --wait
	stop_service
	[ "$(stored 1)" = running ]
	# All is there again: running tasks are started again, held ones are held.
	cp "$config.whole" "$config"
	run_write_estimates "$estimates"
	serve
	within 120 task_is 1 completed
	[ "$(task 2 state)/$(task 2 held)" = waiting/true ]
	task_is 0 completed
}

# What the record says of the first estimate, in the file and in the store.
estimates_on_record() {
	grep -m 1 -o "etc_s: .*" "$state/config.yaml"
	run_query "$state" "SELECT etc_s FROM estimate ORDER BY 1"
}

@test "a start that is refused leaves the record of the configuration as it was" {
	serve
	"$virtbed" submit IS.S.2 --count 3 --hold
	stop_service
	cp "$state/config.yaml" before.yaml
	on_record=$(estimates_on_record)
	# Fewer tasks than there are, which the controller alone can tell, and other estimates.
	cp "$config" "$config.good"
	sed -i 's/mapping_interval_s: 60/&, tasks_max: 2/' "$config"
	sed -i 's/etc_s: 2/etc_s: 3/' "$estimates"
	run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket"
	run_wait
	[ "$run_status" -eq 2 ]
	grep "service.tasks_max: the service has had 3 tasks already; give more than 2" "$run_words"
	cmp before.yaml "$state/config.yaml"
	[ "$(estimates_on_record)" = "$on_record" ]
	# Those of the record are what a start without any goes by.
	cp "$config.good" "$config"
	run_start serve "$config" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	[ "$(estimates_on_record)" = "$on_record" ]
	task_is 2 waiting
	stop_service
	# A task that is taken is on record.
	serve
	[ "$(estimates_on_record)" != "$on_record" ]
	grep -q "etc_s: 3" "$state/config.yaml"
	stop_service
}

# Local schedulers of clusters that the file $BATS_TEST_TMPDIR/mute names take requests, and never answer.
make_mute() {
	cat >"$VIRTBED_LIBEXEC/mute-local-sched" <<END
#!/bin/bash
"$run_build/tests/unit/backend/scripted-local-sched" "\$@" &
pid=\$!
trap 'kill -CONT \$pid; kill \$pid; wait \$pid; exit 0' TERM
while [ -d /proc/$$ ] && [ -d /proc/\$PPID ]; do
	if [ -e "$BATS_TEST_TMPDIR/mute" ] && [[ "\$*" == *"--cluster \$(cat "$BATS_TEST_TMPDIR/mute")"* ]]; then
		kill -STOP \$pid
	else
		kill -CONT \$pid || exit 1
	fi
	sleep 0.1
done
kill -KILL \$pid
END
	chmod +x "$VIRTBED_LIBEXEC/mute-local-sched"
	ln -sf mute-local-sched "$VIRTBED_LIBEXEC/virtbed-local-sched"
}

# Whether the local scheduler of CLUSTER stands still. is_mute CLUSTER
is_mute() {
	grep -q '^State:.T' "/proc/$(run_process scripted-local-sched "$state/state/$1")/status"
}

nobody_knows() {
	[[ $(task "$1" why) == *"local scheduler of cluster 'c2' does not answer"* ]]
}

away() {
	[ "$("$virtbed" clusters --json | jq -r ".clusters[] | select(.cluster == \"$1\") | .away")" = "$2" ]
}

@test "a local scheduler that does not answer is away, and comes in when it does" {
	make_mute
	sed -i 's/repetitions: 10/repetitions: 60/' "$config" # 24 s: not over before it is mute
	serve
	"$virtbed" drain --reason test c1/0-3
	"$virtbed" submit CG.S.2 --hold
	"$virtbed" submit CG.S.2
	within 60 task_is 1 running
	echo c2 >"$BATS_TEST_TMPDIR/mute.new"
	mv "$BATS_TEST_TMPDIR/mute.new" "$BATS_TEST_TMPDIR/mute"
	within 60 is_mute c2
	kill -9 "$(run_process virtbed-controller "$state")"
	run_wait_for "continuing without cluster 'c2'" 60
	# What became of task 1 is not known: it is not started again while it may well run.
	within 60 nobody_knows 1
	away c2 true
	away c1 false
	"$virtbed" undrain c1/0-3
	"$virtbed" submit IS.S.2 --wait
	rm "$BATS_TEST_TMPDIR/mute"
	within 60 away c2 false
	within 60 task_is 1 completed
	[ "$(task 1 attempts)" -eq 1 ]
	"$virtbed" release 0
	within 60 task_is 0 completed
}

restarts() {
	[ "$(wc -l <"$BATS_TEST_TMPDIR/starts")" -ge "$1" ]
}

@test "that a local scheduler does not stay is told once, not each time" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes a minute: ./testbed check --long"
	cat >"$VIRTBED_LIBEXEC/dying-local-sched" <<END
#!/bin/bash
[[ "\$*" == *"--cluster c2"* ]] && [ -e "$BATS_TEST_TMPDIR/die" ] && { echo >>"$BATS_TEST_TMPDIR/starts"; exit 1; }
exec "$run_build/tests/unit/backend/scripted-local-sched" "\$@"
END
	chmod +x "$VIRTBED_LIBEXEC/dying-local-sched"
	ln -sf dying-local-sched "$VIRTBED_LIBEXEC/virtbed-local-sched"
	serve
	touch "$BATS_TEST_TMPDIR/die" "$BATS_TEST_TMPDIR/starts"
	kill -9 "$(run_process scripted-local-sched "$state/state/c2")"
	run_wait_for "again and again; its cluster is away" 60
	within 60 restarts 7 # two of them after it was told
	[ "$(run_query "$state" "SELECT count(*) FROM event WHERE detail LIKE '%again and again%'")" -eq 1 ]
	rm "$BATS_TEST_TMPDIR/die"
	within 60 away c2 false
}

@test "damage to old samples is named while the service goes on" {
	serve
	"$virtbed" submit IS.S.2 --wait
	stop_service
	run_altered "$state"
	break_store "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO sample SELECT 1, 'a0', i, i, 1000, i, 0 FROM n; PRAGMA wal_checkpoint(TRUNCATE)"
	page=$(sqlite3 "$state/run.sqlite" "SELECT pageno FROM dbstat WHERE name = 'sample' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 5")
	printf '\377\377\377\377\377\377\377\377\377\377' |
		dd of="$state/run.sqlite" bs=1 seek=$(((page - 1) * 4096)) conv=notrunc status=none
	serve
	run_wait_for "$state/run.sqlite: damaged or truncated: " 60
	task_is 0 completed
	"$virtbed" submit IS.S.2 --wait
	[ "$(run_query "$state" "SELECT count(*) FROM event WHERE kind = 'store-damaged'")" -eq 1 ]
}

@test "a damaged file is named with its cure, which brings back what can be read" {
	serve
	"$virtbed" submit IS.S.2 --count 200 --hold >numbers
	"$virtbed" submit IS.S.2 --wait
	stop_service
	run_altered "$state"
	sqlite3 "$state/run.sqlite" "PRAGMA wal_checkpoint(TRUNCATE)"
	page=$(sqlite3 "$state/run.sqlite" "SELECT rootpage FROM sqlite_master WHERE name = 'submission'")
	printf '\377\377\377\377\377\377\377\377\377\377' |
		dd of="$state/run.sqlite" bs=1 seek=$(((page - 1) * 4096)) conv=notrunc status=none
	run "$virtbed" serve "$config" --state "$state" --listen "unix:$socket"
	[ "$status" -eq 2 ]
	[[ $output == *"$state/run.sqlite: damaged or truncated: "*"save what can be read of it as docs/explanation/reliability.md says"* ]]
	# What docs/explanation/reliability.md says.
	sed -n '/^    { sqlite3 run.sqlite .dump/,/^$/p' "$BATS_TEST_DIRNAME/../../docs/explanation/reliability.md" >salvage
	(cd "$state" && sh -eu "$BATS_TEST_TMPDIR/salvage")
	run_altered "$state/damaged"
	serve
	run_wait_for "task 0 is quarantined: its submission is missing"
	[ "$("$virtbed" queue --all --json | jq '.tasks | length')" -eq 201 ]
	task_is 200 completed
	"$virtbed" cancel 20
	task_is 20 killed
	"$virtbed" submit IS.S.2 --wait
}
