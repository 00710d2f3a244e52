#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A study spread by configs/slurm/study.sbatch over a real Slurm: slurmctld and slurmd of the distribution,
# in namespaces of their own. VIRTBED_BUILD names the build directory.

bats_require_minimum_version 1.5.0

setup() {
	export ROOT=$BATS_TEST_DIRNAME/../..
	export PATH=${VIRTBED_BUILD:-$ROOT/build}/controller/cli:$PATH:/usr/sbin:/sbin
	export CONFIG=$ROOT/configs/papers/energy-5000.yaml SBATCH=$ROOT/configs/slurm/study.sbatch
	cd "$BATS_TEST_TMPDIR"
	local missing=
	[ "$(id -u)" -eq 0 ] || missing="root"
	for program in munged slurmctld slurmd sbatch; do
		command -v $program >/dev/null || missing="$program"
	done
	[ -z "$missing" ] && return
	[ -z "${CI:-}${VIRTBED_STRICT:-}" ] || { echo "needs $missing"; return 1; }
	skip "needs $missing"
}

# Tables of two studies are the same, byte for byte.
same() {
	cmp "$1/summary.csv" "$2/summary.csv"
	cmp "$1/results.csv" "$2/results.csv"
}

@test "parts that Slurm ran and merged make the same study as one run" {
	virtbed study "$CONFIG" --policy easy,random --trials 3 --out whole
	"$BATS_TEST_DIRNAME/with-slurm" slurm bash -euc '
		array=$(sbatch --parsable "$SBATCH" "$CONFIG" study --policy easy,random --trials 3)
		sbatch --wait --dependency=afterok:$array --output=merge.log \
			--wrap "virtbed study merge study study/part-*"'
	[ "$(ls -d study/part-* | wc -l)" -eq 4 ]
	same whole study
}

@test "a part alone is done again only when the number of parts is given" {
	local options=(--policy easy,random --trials 3)
	virtbed study "$CONFIG" "${options[@]}" --out whole
	for k in 1 2 4; do
		virtbed study "$CONFIG" "${options[@]}" --out study/part-$k --shard $k/4
	done
	"$BATS_TEST_DIRNAME/with-slurm" slurm bash -euc '
		VIRTBED_SHARDS=4 sbatch --wait --array=3 "$SBATCH" "$CONFIG" study "$@"
		! sbatch --wait --array=3 --output=refused "$SBATCH" "$CONFIG" study "$@"' - "${options[@]}"
	grep -q "set VIRTBED_SHARDS to the number of parts" refused
	virtbed study merge study study/part-*
	same whole study
}
