#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a controller shows to browsers, to Prometheus and to programs that know its document, with a real lab behind it.

load lab
load run

setup() {
	run_use_lab
	config=$BATS_TEST_TMPDIR/config.yaml
	out=$BATS_TEST_TMPDIR/out
	write_config
}

teardown() {
	[ -z "${prometheus_pid:-}" ] || kill "$prometheus_pid" || true
	run_end_lab "$name"
}

# Two nodes on one blade, and four tasks in the first second: two have to wait.
write_config() {
	name=$(lab_name page)
	cat >"$config" <<END
name: $name
clusters:
  - {name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 665, base_mhz: 2660, hosts: [{blade: b1}]}
types:
  - {name: job, benchmark: is, class: S, cores: 1, repetitions: 100000, memory_mib: 96, share: 1}
workload: {arrival_mean_s: 0.2, duration_s: 1, seed: 2, utility_max: [1], constant_until: 10, zero_at: 50}
experiment:
  policies: [easy]
  limits: [1]
  budget_j: 200000
  mapping_interval_s: 1
  duration_s: 900
  baseline_s: 1
  task_deadline_s: 890
lab:
  blades:
    - {name: b1, cpu_cores: 0.6, idle_w: 60, core_w: 100}
estimates: [{type: job, cluster: c1, etc_s: 600, eec_j: 6000}]
END
}

# fetch [OPTION...] PATH...: as a user with a token
fetch() {
	curl -sf -H "@$BATS_TEST_TMPDIR/header" "$@"
}

two_run_and_some_wait() {
	[ "$(fetch "$page/v1/tasks" | jq '[.tasks[].state] | (map(select(. == "running")) | length) == 2 and
		any(. == "waiting" or . == "planned")')" = true ]
}

# Prometheus itself, with a store of its own, scrapes the controller once a second.
start_prometheus() {
	local dir=$BATS_TEST_TMPDIR/prometheus
	mkdir "$dir"
	cat >"$dir/config.yaml" <<-END
		global: {scrape_interval: 1s}
		scrape_configs:
		  - job_name: virtbed
		    static_configs: [{targets: ["${page#http://}"]}]
		    authorization: {credentials_file: $VIRTBED_TOKEN_FILE}
	END
	prometheus --config.file="$dir/config.yaml" --storage.tsdb.path="$dir/data" \
		--web.listen-address=127.0.0.1:0 2>"$dir/log" 3>&- &
	prometheus_pid=$!
	within 60 prometheus_listens
}

# Where, says no log line for port 0: the kernel does.
prometheus_listens() {
	prometheus_port=$(ss -Hltnp | sed -n "s/.*127\.0\.0\.1:\([0-9]*\) .*pid=$prometheus_pid,.*/\1/p")
	[ -n "$prometheus_port" ]
}

# What Prometheus knows of a metric has COUNT series. scraped COUNT METRIC
scraped() {
	[ "$(curl -sf "http://127.0.0.1:$prometheus_port/api/v1/query" --data-urlencode "query=$2" |
		jq '.data.result | length')" = "$1" ]
}

# Reads events as they come until that of the test's own notice is among them; fails with any answer.
poll_until_noticed() {
	local after=$1
	until [ -s polled ] && jq -e 'any(.events[]; .kind == "test")' polled; do
		fetch "$page/v1/events?after=$after&wait_s=50" >polled || return 1
		after=$(jq .last polled)
	done
}

@test "a controller shows what it does to browsers, to Prometheus and to programs" {
	"$virtbed" config check "$config"
	run_start run "$config" --out "$out" --listen http://127.0.0.1:0
	run_wait_for "the controller's page is at http" 120
	page=$(sed -n "s|.*the controller's page is at \(http://[0-9.:]*\)/.*|\1|p" "$run_words" | head -n 1)
	export VIRTBED_TOKEN_FILE=$BATS_TEST_TMPDIR/token
	(umask 077 && "$virtbed" token create --state "$out" --role operator >"$VIRTBED_TOKEN_FILE")
	sed 's/^/Authorization: Bearer /' "$VIRTBED_TOKEN_FILE" >"$BATS_TEST_TMPDIR/header"
	within 200 two_run_and_some_wait || { cat "$run_words"; tail -n 20 "$out"/logs/*.log; return 1; }

	# What it serves is what its document says, and what Prometheus wants.
	"$BATS_TEST_DIRNAME/check-api.py" "$page" task=0 cluster=c1 node=0
	"$BATS_TEST_DIRNAME/check-api.py" "$page" task=99999 cluster=none node=9
	fetch "$page/metrics" >metrics
	promtool check metrics <metrics
	grep -q '^virtbed_tasks{state="running"} 2$' metrics
	grep -q '^virtbed_nodes{cluster="c1",state="busy"} 2$' metrics
	grep -q '^virtbed_host_energy_joules_total{cluster="c1",host="b1",modelled="true"} [0-9.]*$' metrics
	start_prometheus

	# A browser that has a file asks whether it is another one by now.
	tag=$(curl -s -D - -o /dev/null "$page/page.js" | tr -d '\r' | sed -n 's/^ETag: //p')
	[ "$(curl -s -o /dev/null -w '%{http_code}' -H "If-None-Match: $tag" "$page/page.js")" = 304 ]

	# A long poll ends with the event that it waits for.
	last=$(fetch "$page/v1/events" | jq .last)
	poll_until_noticed "$last" 3>&- &
	poll=$!
	fetch -X POST "$page/v1/notices" -d '{"kind": "test", "text": "<b>seen</b>"}'
	wait $poll
	jq -e ".events[0].seq > $last" polled
	[ "$(curl -s -o /dev/null -w '%{http_code}' -H "@$BATS_TEST_TMPDIR/header" -H 'Origin: http://elsewhere' -X POST "$page/v1/stop")" = 403 ]

	# The page: a token, nodes, tasks, charts, what the numbers rest on, events as text; a task; by the keyboard.
	run "$BATS_TEST_DIRNAME/browser.py" "$page/" \
		"until=document.documentElement.dataset.ready === 'token'" "print=document.activeElement.id" \
		"type=$VIRTBED_TOKEN_FILE" "key=Enter" \
		"until=document.documentElement.dataset.ready === 'overview'" \
		"until=document.querySelectorAll('.node[data-state=busy]').length === 2" \
		"until=document.querySelectorAll('#active tr').length >= 3" \
		"until=[...document.querySelectorAll('#events td')].some((cell) => cell.textContent === '<b>seen</b>')" \
		"until=document.querySelectorAll('#power .curve').length > 1" \
		"until=document.querySelector('#power .plot svg').getAttribute('aria-label').includes('b1')" \
		"print=document.body.innerText" \
		"print=document.activeElement.id" \
		"print=window.before = 'reloaded'; setTimeout(() => location.reload())" \
		"until=!window.before && document.documentElement.dataset.ready === 'overview'" \
		"key=Tab" "print=document.activeElement.className" \
		"go=#task/0" "until=document.documentElement.dataset.ready === 'task/0'" \
		"print=document.getElementById('task').innerText" \
		"print=document.querySelectorAll('#task-gantt rect').length > 0 ? 'drawn' : 'empty'"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" = *"emulated P-states"*"modelled watts"* ]]
	[[ "$output" = *"TCG"* ]]
	[[ "$output" = *"c1-n1"*"busy, task "* ]]
	[[ "$output" = *"budget 200 kJ"* ]]
	[[ "$output" = "token"$'\n'* ]]
	[[ "$output" = *$'\nmain\n'*$'\nskip\n'* ]]
	[[ "$output" = *"Task 0"*"drawn"* ]]

	# It is live: what happens now comes by itself.
	within 60 scraped 1 'virtbed_tasks{state="running"} == 2'
	within 60 scraped 5 'virtbed_nodes'
}
