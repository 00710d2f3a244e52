#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The package as a new operator uses it, in a whole Debian with systemd, control groups of version 2 and AppArmor, under
# QEMU's emulator: debian-script has the steps.

load lab
load run

@test "in a whole Debian the package is installed, its units run, and it goes again" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes half an hour: ./testbed check --long"
	deb=$(ls "$run_build"/virtbed_*.deb)
	results=$("$BATS_TEST_DIRNAME/debian-guest" "$run_build/debian" "$deb" "$BATS_TEST_DIRNAME/debian-script")
	echo "$results"
	! grep '^not ok\|^Bail out' <<<"$results" || return 1
	grep -q '^1\.\.[0-9]' <<<"$results"
}
