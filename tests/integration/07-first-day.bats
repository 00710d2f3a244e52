#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The pages of docs/first-day, carried out as they stand, each in a folder that is like the top folder of
# the sources after ./testbed build. No VMs. VIRTBED_BUILD names the build directory. What a page has from
# its first block marked `long` on is for ./testbed check --long.

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cd "$BATS_TEST_TMPDIR" || return 1
	ln -s "${VIRTBED_BUILD:-$ROOT/build}" build
	unset VIRTBED_URI VIRTBED_LIBEXEC VIRTBED_TOKEN_FILE
}

# holds PAGE: every command does, and prints, what the page says
holds() {
	"$BATS_TEST_DIRNAME/first-day.py" "$ROOT/docs/first-day/$1" ${VIRTBED_LONG:+--long}
}

@test "every page of the first day is carried out here" {
	for page in "$ROOT"/docs/first-day/*.md; do
		grep -q "holds ${page##*/}\$" "$BATS_TEST_FILENAME" || { echo "$page is not"; return 1; }
	done
}

@test "an experimenter's first day" {
	holds experimenter.md
}

@test "an operator's first day" {
	ln -s "$ROOT/configs" configs
	holds operator.md
}

# It changes and builds the sources, so it gets some of its own.
@test "a policy author's first day" {
	tar -C "$ROOT" --exclude='./build*' --exclude=./results --exclude=./.git -cf - . | tar -xf -
	holds policy-author.md
}
