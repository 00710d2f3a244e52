#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A blade whose BMC speaks Redfish: what redfishtool and python3-sushy read of it is what we read.

bats_require_minimum_version 1.5.0
load lab

setup() {
	lab_require
	virtbed=$lab_build/controller/cli/virtbed
	config=$BATS_TEST_TMPDIR/lab.yaml
	lab_write_config "$config" 2
	sed -i 's/name: b2, cpu_cores: 0.3, idle_w: 60, core_w: 100/&, bmc: redfish/; s/\(b2.*idle_w: \)60/\173.25/' "$config"
	lab=$(lab_name a)
	# They would override what the clients are told to trust.
	unset REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
}

teardown() {
	lab_down_all
}

# Skips where a client is not installed; in strict mode (CI) that is a failure.
require() {
	"$@" >/dev/null 2>&1 && return
	[ -z "${CI:-}${VIRTBED_STRICT:-}" ] || { echo "failed: $*"; return 1; }
	skip "failed: $*"
}

# A value of blade b2's BMC, as the lab's record says. bmc KEY
bmc() {
	lab_get "$lab" ".blades[] | select(.name == \"b2\") | .bmc.$1"
}

# Our reading of host NAME. ours CONFIG NAME [ARGUMENT...]
ours() {
	local file=$1 name=$2
	shift 2
	"$virtbed" energy --live "$file" --json "$@" | jq -r ".hosts[] | select(.host == \"$name\") | .watts"
}

bmc_is_gone() {
	[ "$(lab_get "$lab" '.blades[1].bmc_pid')" = null ]
}

# A configuration of a host with the BMC as the owner of a real blade would write it. write_plain FILE AUTH
write_plain() {
	local meter="kind: redfish, address: 127.0.0.1, port: $(bmc port), user: $(bmc user), auth: $2"
	meter="$meter, password_file: $(bmc password_file), ca_file: $(bmc ca_file)"
	sed '/^lab:/,$d; s/hosts: \[{blade: b1}\]/hosts: [{name: real, uri: "test:\/\/\/default", meter: METER}]/; /blade: b2/d' \
		"$config" |
		sed "s|METER|{$meter}|" >"$1"
}

@test "redfishtool reads the watts that we read" {
	require command -v redfishtool
	lab_up "$config" "$lab"
	local auth
	for auth in Basic Session; do
		run redfishtool -r "127.0.0.1:$(bmc port)" -u "$(bmc user)" -p "$(cat "$(bmc password_file)")" \
			-S Always -A $auth Chassis -1 getPowerReading
		echo "$output"
		[ "$status" -eq 0 ]
		[ "$(jq -r .PowerConsumedWatts <<<"$output")" = 73.25 ]
	done
	[ "$(ours "$config" b2 --lab "$lab")" = 73.25 ]
}

@test "python3-sushy reads the watts that we read, and is refused with a wrong password" {
	require /usr/bin/python3 -c 'import sushy'
	lab_up "$config" "$lab"
	cat >"$BATS_TEST_TMPDIR/read.py" <<'END'
import sys
import sushy
from sushy import auth, exceptions
address, user, password, ca = sys.argv[1:]
for kind in (auth.BasicAuth, auth.SessionAuth):
    root = sushy.Sushy(address, auth=kind(user, password), verify=ca)
    chassis = root.get_chassis_collection().get_members()[0]
    print(chassis.power.json["PowerControl"][0]["PowerConsumedWatts"])
try:
    sushy.Sushy(address, auth=auth.SessionAuth(user, "wrong"), verify=ca)
    print("not refused")
except exceptions.AccessError:
    print("refused")
END
	run --separate-stderr /usr/bin/python3 "$BATS_TEST_TMPDIR/read.py" "https://127.0.0.1:$(bmc port)" "$(bmc user)" \
		"$(cat "$(bmc password_file)")" "$(bmc ca_file)"
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[ "${lines[*]}" = "73.25 73.25 refused" ]
	[ "$(ours "$config" b2 --lab "$lab")" = 73.25 ]
}

@test "energy --live shows both kinds of BMC, and the reason of a meter that died" {
	lab_up "$config" "$lab"
	run "$virtbed" energy --live "$config" --lab "$lab"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"c1 "*"b1 "*"ipmi "*"dcmi "*"60.0"* ]]
	[[ "$output" == *"c2 "*"b2 "*"redfish "*"redfish "*"73.2"* ]]
	[[ "$output" == *"note: watts of a model"* ]]
	kill -9 "$(lab_get "$lab" '.blades[1].bmc_pid')"
	within 20 bmc_is_gone
	run --separate-stderr -1 "$virtbed" energy --live "$config" --lab "$lab" --json
	[[ "$stderr" == "virtbed energy: 1 of 2 hosts have no watts: cluster 'c2', host b2: "* ]]
	[ "$(jq -r '.hosts[1].watts' <<<"$output")" = null ]
	[[ "$(jq -r '.hosts[1].error' <<<"$output")" == *"https://127.0.0.1:"* ]]
	[ "$(jq -r '.hosts[0].watts' <<<"$output")" = 60 ]
}

@test "a session is given back at the end" {
	lab_up "$config" "$lab"
	write_plain "$BATS_TEST_TMPDIR/plain.yaml" session
	[ "$(ours "$BATS_TEST_TMPDIR/plain.yaml" real)" = 73.25 ]
	run curl -s --cacert "$(bmc ca_file)" -u "$(bmc user):$(cat "$(bmc password_file)")" \
		"https://127.0.0.1:$(bmc port)/redfish/v1/SessionService/Sessions"
	[ "$(jq -r '."Members@odata.count"' <<<"$output")" = 0 ]
}

@test "bad usage and bad input of energy exit with 2 and say why" {
	run "$virtbed" energy "$config"
	[ "$status" -eq 2 ]
	[[ "$output" == *"--live"* ]]
	run "$virtbed" energy --live "$BATS_TEST_TMPDIR/none.yaml"
	[ "$status" -eq 2 ]
	run "$virtbed" energy --live "$config" --lab "$lab"
	[ "$status" -eq 2 ]
	[[ "$output" == *"virtbed lab up"* ]]
	run "$virtbed" nodes
	[ "$status" -eq 2 ]
	run "$virtbed" nodes "$config"
	[ "$status" -eq 2 ]
	run "$virtbed" nodes --at "unix:$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 1 ]
}
