#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian package that `./testbed package` made: what is in it, that lintian takes it, and that what was unpacked
# from it serves. A whole Debian installs it in 70-debian.bats.

load lab
load run

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	deb=$(ls "$run_build"/virtbed_*.deb 2>/dev/null) || {
		[ -z "${CI:-}${VIRTBED_STRICT:-}" ] || { echo "no package in $run_build: ./testbed package makes it"; return 1; }
		skip "no package in $run_build"
	}
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	[ -z "${scripted:-}" ] || kill $scripted || true # a list
	run_end_all "${run_name:-none}"
}

@test "the package has everything, and nothing of the machine that made it" {
	dpkg-deb -c "$deb" >contents
	for path in usr/bin/virtbed usr/libexec/virtbed/virtbed-{controller,local-sched,lab,meters,policy-host,policy-so,policy-batsim} \
		usr/lib/x86_64-linux-gnu/virtbed/dcmi_module.so usr/lib/systemd/system/virtbed-controller.service \
		usr/lib/systemd/system/virtbed-controller-lab.service usr/lib/systemd/system/virtbed-local-sched@.service \
		usr/lib/sysusers.d/virtbed.conf usr/lib/tmpfiles.d/virtbed.conf usr/share/man/man1/virtbed.1.gz \
		usr/share/man/man5/virtbed.yaml.5.gz usr/share/man/man8/virtbed-{controller,local-sched}.8.gz \
		usr/share/bash-completion/completions/virtbed usr/share/virtbed/image/{vmlinuz,initramfs,root.squashfs,manifest.json} \
		usr/share/virtbed/vm-images/build usr/lib/virtbed/guest/linked \
		usr/share/doc/virtbed/{docs/how-to/service.md,copyright,changelog.gz} \
		usr/share/doc/virtbed/examples/one-machine.yaml usr/lib/python3/dist-packages/virtbed/policy.py \
		usr/share/doc/virtbed/examples/python/least_energy.py; do
		grep -q " \./$path\$" contents || { echo "no $path"; return 1; }
	done
	# All of it is root's, and no other user may write to it.
	! grep -v ' root/root ' contents || return 1
	! grep -E '^-.{4}w|^-.{7}w|^d.{7}w|^-..s|^-.....s' contents || return 1
	! grep -vE ' \./$| \./(etc|etc/virtbed|usr)/|^d.* \./(etc|usr)/$' contents || return 1
	dpkg-deb -x "$deb" tree
	! grep -rlF -e "$root" -e "$run_build" tree || return 1
	dpkg-deb -f "$deb" Depends | grep -q 'libvirt0 .*systemd | systemd-standalone-sysusers'
	# What it starts and enables when it is installed: nothing.
	dpkg-deb -e "$deb" control
	! grep -E '(systemctl|deb-systemd-invoke).*(enable|restart| start)' control/p* || return 1
	for script in control/p*; do sh -n "$script"; done
	(cd tree && md5sum --quiet -c ../control/md5sums)
}

@test "the package for policies has what builds one outside the tree, and the packaged command checks it" {
	command -v cc >/dev/null && command -v pkg-config >/dev/null || skip "no cc, or no pkg-config"
	dev=$(ls "$run_build"/virtbed-dev_*.deb)
	[ "$(dpkg-deb -f "$dev" Depends)" = "virtbed (= $(dpkg-deb -f "$deb" Version))" ]
	! dpkg-deb -c "$deb" | grep -q ' \./usr/include/' || return 1
	dpkg-deb -x "$deb" tree
	dpkg-deb -x "$dev" tree
	dpkg-deb -e "$dev" control
	(cd tree && md5sum --quiet -c ../control/md5sums)
	! grep -rlF -e "$root" -e "$run_build" tree/usr/include tree/usr/share/pkgconfig || return 1
	export PKG_CONFIG_SYSROOT_DIR=$PWD/tree PKG_CONFIG_PATH=$PWD/tree/usr/share/pkgconfig
	cp "$root/tests/policy/wrong.c" mine.c
	# shellcheck disable=SC2046
	cc -shared -fPIC $(pkg-config --cflags virtbed-policy) -o mine.so mine.c
	unset VIRTBED_LIBEXEC
	tree/usr/bin/virtbed policy check mine.so --snapshots 20 | grep -q '^nodes *20  yes      yes    yes     yes     yes'
}

@test "lintian finds nothing that is not explained" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "takes a minute: ./testbed check --long"
	command -v lintian >/dev/null || skip "no lintian"
	run lintian --allow-root --fail-on error,warning "$deb" "$run_build"/virtbed-dev_*.deb
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "the same tree gives the same package" {
	[ -n "${VIRTBED_LONG:-}" ] || skip "compiles all again: ./testbed check --long"
	mkdir build
	ln -s "$run_build/image" "$run_build/benchmarks" "$run_build/vm-images" build/
	"$root/configs/debian/package" build
	cmp "$deb" build/virtbed_*.deb
	cmp "$run_build"/virtbed-dev_*.deb build/virtbed-dev_*.deb
}

@test "what was unpacked serves, with a local scheduler that runs already" {
	run_use_scripted
	dpkg-deb -x "$deb" tree
	unset VIRTBED_LIBEXEC VIRTBED_IMAGE
	run_write_config config.yaml
	run_write_estimates estimates.yaml
	sed -i 's/^workload:/service: {mapping_interval_s: 60}\n&/' config.yaml
	for cluster in c1 c2; do
		sed -i "s|^  - name: $cluster|&\n    local_scheduler: unix:$PWD/$cluster.sock|" config.yaml
	done
	for cluster in c1 c2; do
		mkdir $cluster
		"$BATS_TEST_TMPDIR/libexec/virtbed-local-sched" --config config.yaml --cluster $cluster --state $cluster \
			--listen "unix:$PWD/$cluster.sock" 3>&- >/dev/null 2>&1 &
		scripted="${scripted:-} $!"
	done
	virtbed=$PWD/tree/usr/bin/virtbed
	run_start serve config.yaml --estimates estimates.yaml --state state --listen "unix:$PWD/s.sock"
	run_wait_for "serving at" 120
	[ "$(readlink -f "/proc/$(run_process virtbed-controller "$PWD/state")/exe")" = "$PWD/tree/usr/libexec/virtbed/virtbed-controller" ]
	"$virtbed" --help | grep -q serve
	"$virtbed" submit --uri "unix:$PWD/s.sock" IS.S.2 --count 2 --wait
	kill -TERM "$run_pid"
	run_wait
	[ "$run_status" -eq 0 ]
}
