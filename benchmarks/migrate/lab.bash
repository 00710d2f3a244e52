# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-3.0-or-later
# A lab of two blades for what is measured on running tasks: a cluster with a node on each, and a local
# scheduler. The caller sets name, build and dir, and calls bench_end at its exit.

lab=$build/local-sched/lab/virtbed-lab
scheduler=

bench_end() {
	[ -z "$scheduler" ] || { kill "$scheduler" && wait "$scheduler"; } || true
	"$lab" down --name "$name" >&2 || true
	rm -rf "$dir"
}

write_config() {
	cat >"$dir/config.yaml" <<END
name: $name
clusters:
  - {name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 1000, base_mhz: 2660, preemption: {spares: 1},
     hosts: [{blade: b1}, {blade: b2}]}
types:
  - {name: CG.S.1, benchmark: cg, class: S, cores: 1, repetitions: 1, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}
experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}
lab:
  blades:
    - {name: b1, cpu_cores: 0.8, idle_w: 60, core_w: 100}
    - {name: b2, cpu_cores: 0.8, idle_w: 60, core_w: 100}
END
}

get() {
	curl -s --unix-socket "$dir/sock" "http://localhost$1"
}

put() {
	curl -sf --unix-socket "$dir/sock" -X PUT -H 'Content-Type: application/json' -d "$2" \
		-o "$dir/answer" "http://localhost$1"
}

# Runs a command until it succeeds, up to 180 s.
within() {
	local tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 1800 ] || { echo "not in time: $*" >&2; tail "$dir/log" >&2; exit 1; }
		sleep 0.1
	done
}

# Both nodes ready, and the spare VMs there.
all_ready() {
	[ "$(get /v1/nodes | jq -c '[([.nodes[].state] | unique), .spares_booting]')" = '[["ready"],0]' ]
}

runs() {
	[ "$(get /v1/tasks/job | jq -r .state)" = running ]
}

# Starts them, and `job` on the first node: a rank that computes without end. Sets uri, peer and address of the blades.
bench_begin() {
	write_config
	"$lab" up "$dir/config.yaml" --name "$name" >&2
	status=$("$lab" status --name "$name" --json)
	for i in 0 1; do
		uri[i]=$(jq -r ".blades[$i].uri" <<<"$status")
		peer[i]=$(jq -r ".blades[$i].peer_uri" <<<"$status")
		address[i]=$(jq -r ".blades[$i].address" <<<"$status")
	done
	"$build/local-sched/virtbed-local-sched" --config "$dir/config.yaml" --cluster c1 --listen "unix:$dir/sock" \
		--state "$dir/state" --image "${VIRTBED_IMAGE:-$build/image}" 2>"$dir/log" &
	scheduler=$!
	within all_ready
	put /v1/tasks/job '{"type": "T", "benchmark": "cg", "class": "S", "ranks": 1, "repetitions": 1000000,
		"nodes": [0], "deadline_s": 100000}'
	within runs
}
