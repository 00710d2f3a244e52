#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What goes over a network: people's requests by TLS, and daemons that know one another by certificates of one CA.

bats_require_minimum_version 1.5.0
load lab
load run

setup() {
	state=$BATS_TEST_TMPDIR/state
	socket=$BATS_TEST_TMPDIR/serve.sock
	config=$BATS_TEST_TMPDIR/config.yaml
	estimates=$BATS_TEST_TMPDIR/estimates.yaml
	document=$BATS_TEST_DIRNAME/../../docs/reference/controller-api.json
	command -v openssl >/dev/null || skip "openssl is not installed"
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 077
	unset VIRTBED_TOKEN_FILE VIRTBED_URI VIRTBED_CA_FILE
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
	make_ca ca
}

teardown() {
	run_end_all "$run_name"
}

# NAME.pem and NAME.key of a CA
make_ca() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -days 2 \
		-keyout "$1.key" -out "$1.pem" 2>openssl.log
}

# A certificate of this machine by a CA. make_certificate CA NAME [DAYS]
make_certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$2.key" \
		-out "$2.csr" 2>openssl.log
	openssl x509 -req -in "$2.csr" -CA "$1.pem" -CAkey "$1.key" -CAcreateserial -days "${3:-2}" \
		-extfile <(echo "subjectAltName=IP:127.0.0.1") -out "$2.pem" 2>openssl.log
}

use_scripted() {
	run_use_scripted
	run_write_config "$config"
	run_write_estimates "$estimates"
}

# A port of loopback on which no process listens now; none that the kernel gives to others meanwhile.
free_port() {
	python3 - <<-'END'
		import random, socket
		low = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
		while True:
		    with socket.socket() as one:
		        try:
		            one.bind(("127.0.0.1", random.randrange(10000, max(low, 10100))))
		            print(one.getsockname()[1])
		            break
		        except OSError:
		            pass
	END
}

# ask OPTION...: of curl, to the local scheduler at $port; what it exits with
ask() {
	curl -s --max-time 20 --cacert ca.pem "$@" "https://127.0.0.1:$port/v1/nodes"
}

# Leaves a long poll as TLS has it, with a close_notify, and reads until the service has ended it, too.
leave_poll() {
	python3 - "$1" "$2" <<-'END'
		import os, socket, ssl, sys
		port, token = int(sys.argv[1].rpartition(":")[2]), open(sys.argv[2]).read().strip()
		def ask(path):
		    tls = ssl.create_default_context(cafile="ca.pem").wrap_socket(
		        socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
		    tls.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
		    return tls
		poll = ask("/v1/events?after=1000000000&wait_s=60")
		ask("/v1/status").recv(1) # it waits meanwhile
		below = socket.socket(fileno=os.dup(poll.fileno()))
		poll.setblocking(False)
		try:
		    poll.unwrap()
		except ssl.SSLWantReadError:
		    pass
		below.shutdown(socket.SHUT_WR)
		below.settimeout(20)
		try:
		    while below.recv(4096):
		        pass
		except ConnectionResetError:
		    pass # it has not read the close_notify
	END
}

@test "people are answered by TLS, with a token, and never in plain text" {
	use_scripted
	make_certificate ca server
	sed -i "s|^workload:|service: {mapping_interval_s: 60, user_requests_per_s: 100000, \
listen: 'https://127.0.0.1:0', certificate: $PWD/server.pem, key: $PWD/server.key}\n&|" "$config"
	run_start serve "$config" --estimates "$estimates" --state "$state" --listen "unix:$socket"
	run_wait_for "serving at unix:$socket" 120
	address=$(sed -n "s|.*the controller's page is at \(https://[0-9.:]*\)/.*|\1|p" "$run_words" | head -n 1)
	for name in viewer:viewer:nobody user:user:nobody other:user:daemon operator:operator:root; do
		IFS=: read -r file role user <<<"$name"
		"$virtbed" token create --state "$state" --role "$role" --user "$user" >"$file"
	done
	curl -sSf --cacert ca.pem -H "Authorization: Bearer $(cat user)" "$address/v1/tasks" \
		-d '{"type": "IS.S.2", "held": true, "name": "secret"}'
	VIRTBED_CA_FILE=$PWD/ca.pem "$BATS_TEST_DIRNAME/check-access.py" "$address" "$document" viewer=viewer user=user \
		other=other operator=operator task=0 cluster=c1 node=0
	export VIRTBED_TOKEN_FILE=$PWD/user
	VIRTBED_CA_FILE=$PWD/ca.pem "$virtbed" queue --uri "$address"
	# A server with a certificate of an unknown CA gets no token, nor does another name than the certificate's.
	run -1 "$virtbed" queue --uri "$address"
	[[ $output == *certificate* ]]
	make_ca another
	VIRTBED_CA_FILE=$PWD/another.pem run -1 "$virtbed" queue --uri "$address"
	VIRTBED_CA_FILE=$PWD/ca.pem run -1 "$virtbed" queue --uri "https://localhost:${address##*:}"
	run ! curl -sS --cacert ca.pem --tls-max 1.1 "$address/"
	run ! curl -sS "http://${address#https://}/"
	leave_poll "$address" user
	# A connection that says nothing does not keep others waiting.
	exec 5<>"/dev/tcp/127.0.0.1/${address##*:}"
	curl -sSf --max-time 20 --cacert ca.pem "$address/" | grep -q virtbed
	exec 5>&-
}

@test "what is not safe is not served" {
	use_scripted
	make_certificate ca server
	local line=$(grep -n '^workload:' "$config" | cut -d: -f1)
	while IFS='|' read -r service wanted; do
		sed "${line}i service: {$service}" "$config" >bad.yaml
		run -2 timeout 60 "$virtbed" serve bad.yaml --estimates "$estimates" --state "$state" --listen "unix:$socket"
		[[ $output == *"$wanted"* ]] || { echo "$service: $output"; return 1; }
	done <<-END
		listen: "http://0.0.0.0:0"|or https with a certificate and a key
		listen: "http://192.0.2.1:80"|or https with a certificate and a key
		listen: "https://127.0.0.1:0"|service.listen: https needs service.certificate and service.key
		listen: "https://127.0.0.1:0", certificate: $PWD/server.pem|service.certificate, service.key: give both or none
		listen: "https://127.0.0.1:0", certificate: $PWD/server.pem, key: $PWD/none|cannot be read
		listen: "https://127.0.0.1:0", certificate: $PWD/server.pem, key: $config|is of no use
		listen: "https://host:1", certificate: $PWD/server.pem, key: $PWD/server.key|with the address in digits
	END
	chmod 640 server.key
	sed "${line}i service: {listen: 'https://127.0.0.1:0', certificate: $PWD/server.pem, key: $PWD/server.key}" "$config" >bad.yaml
	run -2 "$virtbed" serve bad.yaml --estimates "$estimates" --state "$state" --listen "unix:$socket"
	[[ $output == *"others can read the key"*"chmod 600"* ]]
	sed "s|  - name: c2|&\n    local_scheduler: https://127.0.0.1:1|" "$config" >bad.yaml
	run -2 "$virtbed" config check bad.yaml
	[[ $output == *"clusters[1].local_scheduler: https needs the section tls"* ]]
}

@test "a local scheduler on another machine takes only clients of its CA, and a controller only such servers" {
	local own
	use_scripted
	make_certificate ca blade
	make_certificate ca controller
	make_certificate ca expired -1
	make_ca another
	make_certificate another foreign
	port=$(free_port)
	sed -i "s|  - name: c2|&\n    local_scheduler: https://127.0.0.1:$port|" "$config"
	for name in blade controller foreign; do
		(cat "$config" && echo "tls: {ca: $PWD/ca.pem, certificate: $PWD/$name.pem, key: $PWD/$name.key}") >"$name.yaml"
	done
	"$VIRTBED_LIBEXEC/virtbed-local-sched" --config blade.yaml --cluster c2 --state "$BATS_TEST_TMPDIR" \
		--listen "https://127.0.0.1:$port" 3>&- 2>blade.log &
	own=$!
	echo $own >>"$BATS_TEST_TMPDIR/pids"
	within 30 ask --cert controller.pem --key controller.key
	run ! ask
	run ! ask --cert foreign.pem --key foreign.key
	run ! ask --cert expired.pem --key expired.key
	run ! ask --cert controller.pem --key controller.key --tls-max 1.1
	run ! curl -sS "http://127.0.0.1:$port/v1/nodes"
	"$virtbed" nodes controller.yaml | grep -c h2
	run -1 "$virtbed" nodes foreign.yaml
	sed "s|ca: $PWD/ca.pem|ca: $PWD/another.pem|" controller.yaml >distrusts.yaml
	run -1 "$virtbed" nodes distrusts.yaml
	[[ $output == *certificate* ]]
	chmod 644 controller.key
	run -1 "$virtbed" nodes controller.yaml
	[[ $output == *"others can read the key"* ]]
	chmod 600 controller.key
	# A whole run over it.
	run_start run controller.yaml --estimates "$estimates" --policy easy --limit 1 --out "$BATS_TEST_TMPDIR/out"
	run_wait
	[ "$run_status" -eq 0 ]
	[ -n "$(run_query "$BATS_TEST_TMPDIR/out" "SELECT 1 FROM task WHERE cluster = 'c2'")" ]
	kill -0 $own
}

@test "the local scheduler itself listens on a network by TLS alone" {
	local scheduler=$run_build/local-sched/virtbed-local-sched
	[ -x "$scheduler" ] || skip "the local scheduler is not built"
	use_scripted
	make_certificate ca blade
	make_certificate ca controller
	port=$(free_port)
	mkdir image
	for name in vmlinuz initramfs root.squashfs; do printf x >"image/$name"; done
	jq -n --arg sum "$(printf x | sha256sum | cut -d ' ' -f 1)" '{files: [("vmlinuz", "initramfs", "root.squashfs") |
		{name: ., bytes: 1, sha256: $sum}], packages: [{name: "libmpich12", version: "4.0.2-3"}]}' >image/manifest.json
	sed -i '/meter:/d' "$config"
	(cat "$config" && echo "tls: {ca: $PWD/ca.pem, certificate: $PWD/blade.pem, key: $PWD/blade.key}") >blade.yaml
	run -2 timeout 60 "$scheduler" --config "$config" --cluster c2 --state ls --image image --listen "https://127.0.0.1:$port"
	run -2 timeout 60 "$scheduler" --config blade.yaml --cluster c2 --state ls --image image --listen "http://0.0.0.0:$port"
	"$scheduler" --config blade.yaml --cluster c2 --state ls --image image --listen "https://127.0.0.1:$port" 3>&- 2>blade.log &
	echo $! >>"$BATS_TEST_TMPDIR/pids"
	within 30 ask --cert controller.pem --key controller.key
	run ! ask
}
