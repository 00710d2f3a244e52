#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
#
# `virtbed compare --room`: how large an error has to be until the simulation names another winner.
# VIRTBED_BUILD names the build directory.

bats_require_minimum_version 1.5.0

load jq

setup_file() {
	export ROOT=$BATS_TEST_DIRNAME/../..
	export BUILD=${VIRTBED_BUILD:-$ROOT/build}
	export PATH=$BUILD/controller/cli:$PATH
	export SIMULATED=$BATS_FILE_TMPDIR/simulated
	virtbed simulate "$ROOT/configs/testbed-hs22.yaml" --trials 3 --policy easy,max-upr,max-upe --limit 1,0.7 --out "$SIMULATED"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	cp -r "$SIMULATED" simulated
}

refused() {
	local words=$1
	shift
	run --separate-stderr "$@"
	[ "$status" -eq 2 ] || { echo "status $status: $stderr"; return 1; }
	[[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

@test "a directory alone has room, and says beforehand how much is simulated" {
	run -0 --separate-stderr virtbed compare simulated --room --room-trials 3
	echo "$output"
	[[ $stderr =~ "at most "([0-9]+)" simulated runs for 6 pairs" ]]
	local most=${BASH_REMATCH[1]}
	[[ $output == "Room of the verdict"* && $output == *"easy - max-upr"* && $output == *"least room"* ]]
	[ "$(grep -c "^At a limit of " <<<"$output")" -eq 6 ]
	jq -e --argjson most "$most" '.simulated_runs <= $most and .trials == 3 and (.pairs | length) == 30' simulated/room.json
}

@test "the same is found with other numbers of threads" {
	virtbed compare simulated --room --room-trials 3 --jobs 1 --json >one
	virtbed compare simulated --room --room-trials 3 --jobs 3 --json >three
	cmp one three
	jq -e '.room.pairs | all(.error | IN("estimates", "noise", "more load", "less load", "overhead"))' one
	jq -e '.room.pairs | all(.measured == null and .room == null)' one
	jq -e '[.room.pairs[] | select(.changes_at)] | all(.low <= .changes_at and (.high == null or .high >= .changes_at))' one
}

@test "a comparison has the room beside what was measured, and the page shows it" {
	# The run itself, called measured: every task took its estimate, and nothing was suspended.
	cp -r simulated measured
	sqlite3 measured/run.sqlite "UPDATE meta SET value = 'measured' WHERE key = 'kind'; UPDATE run SET measured = 1;
		DELETE FROM run WHERE repeat > 1; UPDATE task SET exec_s = 1.25 * exec_s"
	virtbed compare measured simulated --json --room --room-trials 3 >compared
	jq -e '.verdict and (.room.pairs | length) == 30' compared
	jq -e '.room.pairs[] | select(.error == "more load") | (.measured * 1000 | round) == 250' compared
	jq -e '[.room.pairs[] | select(.error == "noise" or .error == "estimates")] | all(.measured < 1e-6)' compared
	jq -e '[.room.pairs[] | select(.error == "more load" and .changes_at)] | all((.room - .changes_at / .measured | fabs) < 1e-9)' compared
	[ -e measured/room.json ] && [ ! -e simulated/room.json ]
	virtbed report measured --format html >/dev/null
	grep -q "<h2>Room of the verdict" measured/index.html
	virtbed report simulated --format html >/dev/null
	! grep -q "Room of the verdict" simulated/index.html || return 1
	# Not asked for, nothing is simulated.
	run -0 --separate-stderr virtbed compare measured simulated
	[[ $output != *"Room of the verdict"* && $stderr != *"simulated runs"* ]]
}

@test "what makes no room is refused" {
	refused "two run directories" virtbed compare simulated
	refused "--brief" virtbed compare simulated simulated --room --brief
	refused "--room-trials is for --room" virtbed compare simulated simulated --room-trials 5
	refused "--jobs is for --room" virtbed compare simulated simulated --jobs 2
	refused "nowhere" virtbed compare nowhere --room
	rm simulated/config.yaml
	sqlite3 simulated/run.sqlite "DELETE FROM meta WHERE key = 'config_yaml'"
	refused "simulated" virtbed compare simulated --room
}
