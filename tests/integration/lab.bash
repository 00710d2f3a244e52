# SPDX-License-Identifier: GPL-3.0-or-later
# Labs for tests: every lab that a test starts is taken down, also when the test fails. Load it with
# `load lab`, call lab_require in setup and lab_down_all in teardown.

load jq
load within

lab_build=${VIRTBED_BUILD:-$BATS_TEST_DIRNAME/../../build}
virtbed_lab=$lab_build/local-sched/lab/virtbed-lab
lab_image=${VIRTBED_IMAGE:-$lab_build/image}

# Skips the test where no lab can run; in strict mode (CI) that is a failure.
lab_require() {
	local reason
	if reason=$("$virtbed_lab" check 2>&1); then
		return
	fi
	[ -z "${CI:-}${VIRTBED_STRICT:-}" ] || { echo "$reason"; return 1; }
	skip "$reason"
}

# Skips the test where no guest image was built.
lab_require_image() {
	[ -f "$lab_image/root.squashfs" ] && return
	[ -z "${CI:-}${VIRTBED_STRICT:-}" ] || { echo "no guest image in $lab_image"; return 1; }
	skip "no guest image in $lab_image"
}

# A name that no other lab of this machine has. lab_name SUFFIX
lab_name() {
	echo "test-$BASHPID-$1" | tr -c 'A-Za-z0-9_\n-' -
}

# Writes the smallest configuration with a lab of N blades, b1 to bN, of 0.3 cores each, on each a
# cluster of one VM. lab_write_config FILE N
lab_write_config() {
	local file=$1 count=$2 i
	{
		echo "name: $(lab_name config)"
		echo "clusters:"
		for i in $(seq "$count"); do
			echo "  - {name: c$i, nodes: 1, cores: 1, memory_mib: 128, max_mhz: 250, base_mhz: 1000," \
				"hosts: [{blade: b$i}]}"
		done
		echo "types:"
		echo "  - {name: IS.S.1, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 1}"
		echo "workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}"
		echo "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}"
		echo "lab:"
		echo "  blades:"
		for i in $(seq "$count"); do
			echo "    - {name: b$i, cpu_cores: 0.3, idle_w: 60, core_w: 100}"
		done
	} >"$file"
}

# Labs to take down in teardown, one name a line: a file, since tests call us from subshells.
lab_register() {
	echo "$1" >>"$BATS_TEST_TMPDIR/labs"
}

# Brings the lab of CONFIG up under NAME. lab_up CONFIG NAME [ARGUMENT...]
lab_up() {
	local config=$1 name=$2
	shift 2
	lab_register "$name"
	"$virtbed_lab" up "$config" --name "$name" "$@"
}

# Takes down all labs that this test has started; fails if one does not go.
lab_down_all() {
	local name failed=0
	[ -f "$BATS_TEST_TMPDIR/labs" ] || return 0
	while read -r name; do
		"$virtbed_lab" down --name "$name" || failed=1
	done <"$BATS_TEST_TMPDIR/labs"
	rm -f "$BATS_TEST_TMPDIR/labs"
	return $failed
}

# A value of the lab's status. lab_get NAME JQ-FILTER
lab_get() {
	"$virtbed_lab" status --name "$1" --json | jq -r "$2"
}

lab_uri() {
	lab_get "$1" ".blades[] | select(.name == \"$2\") | .uri"
}

# ipmitool against a blade's BMC, as the lab's record says. lab_ipmitool NAME BLADE ARGUMENT...
lab_ipmitool() {
	local name=$1 blade=$2 bmc
	shift 2
	bmc=$(lab_get "$name" ".blades[] | select(.name == \"$blade\") | .bmc")
	ipmitool -I lanplus -C "$(jq -r .cipher_suite <<<"$bmc")" -H "$(jq -r .address <<<"$bmc")" \
		-p "$(jq -r .port <<<"$bmc")" -U "$(jq -r .user <<<"$bmc")" \
		-f "$(jq -r .password_file <<<"$bmc")" -L "$(jq -r .privilege <<<"$bmc")" -N 2 -R 2 "$@"
}

# The watts that a blade's BMC reports by DCMI.
lab_watts() {
	lab_ipmitool "$1" "$2" dcmi power reading | sed -n 's/.*Instantaneous power reading: *\([0-9]*\) .*/\1/p'
}

# Writes a domain that boots the guest image. lab_write_domain FILE NAME ADDRESS
lab_write_domain() {
	cat >"$1" <<END
<domain type='qemu'>
  <name>$2</name>
  <memory unit='MiB'>128</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type>
    <kernel>$lab_image/vmlinuz</kernel>
    <initrd>$lab_image/initramfs</initrd>
    <cmdline>virtbed.ip=$3/16 virtbed.host=$2 console=ttyS0 quiet panic=-1</cmdline>
  </os>
  <features><acpi/></features>
  <clock offset='utc'><timer name='hpet' present='no'/></clock>
  <on_reboot>destroy</on_reboot>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='$lab_image/root.squashfs'/>
      <target dev='vda' bus='virtio'/>
      <readonly/>
    </disk>
    <controller type='usb' model='none'/>
    <interface type='bridge'><source bridge='br0'/><model type='virtio'/><rom enabled='no'/></interface>
    <serial type='file'><source path='/var/log/libvirt/$2.console' append='on'/></serial>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <memballoon model='none'/>
  </devices>
</domain>
END
}

# Where groups of a controller are mounted. lab_mount_of CONTROLLER
lab_mount_of() {
	[ ! -d "/sys/fs/cgroup/$1" ] || { echo "/sys/fs/cgroup/$1"; return; }
	find /sys/fs/cgroup -maxdepth 1 -type d -name "*$1*" | grep . | head -n 1 || echo /sys/fs/cgroup
}

# A group with a quota, for lab $lab, below no other. lab_make_limited QUOTA_US
lab_make_limited() {
	local controller
	[ ! -f /sys/fs/cgroup/cgroup.subtree_control ] || echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
	for controller in cpu cpuacct; do
		mkdir -p "$(lab_mount_of $controller)/$lab-limited"
	done
	if [ -f "$(lab_mount_of cpu)/$lab-limited/cpu.max" ]; then
		echo "$1 100000" >"$(lab_mount_of cpu)/$lab-limited/cpu.max"
	else
		echo "$1" >"$(lab_mount_of cpu)/$lab-limited/cpu.cfs_quota_us"
	fi
}

# Runs a command in the group of lab_make_limited. lab_in_limited COMMAND...
lab_in_limited() {
	sh -c 'echo $$ >"$0/cgroup.procs" && echo $$ >"$1/cgroup.procs" && shift && exec "$@"' \
		"$(lab_mount_of cpu)/$lab-limited" "$(lab_mount_of cpuacct)/$lab-limited" "$@"
}

# Removes the group of lab_make_limited, where there is one.
lab_remove_limited() {
	local dir
	for dir in "$(lab_mount_of cpu)/$lab-limited" "$(lab_mount_of cpuacct)/$lab-limited"; do
		[ ! -d "$dir" ] || within 10 find "$dir" -depth -type d -exec rmdir {} +
	done
}

# What is left of lab NAME on this machine, a line each; nothing if nothing is.
lab_remains() {
	local name=$1
	ps -eo pid=,args= | grep -F -e "/lab/$name/" -e "--role=supervisor $name" -e "--role=fabric $name" \
		-e "--role=blade $name" -e "--role=redfish $name" | grep -v -F grep || true
	grep -F "/lab/$name/" /proc/mounts || true
	find /sys/fs/cgroup -type d -name "virtbed-$name" 2>/dev/null || true
	ls -d "/run/virtbed/lab/$name" "/var/lib/virtbed/lab/$name" 2>/dev/null || true
}
