/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guest's process 1, from the initramfs to the end of the VM.  One static program instead of
 * a shell with its tools: under an emulated processor every exec counts in tenths of a second.
 *
 *  1. load the modules that lie in /modules of the initramfs, in the order of their names
 *  2. host name, loopback and eth0 from the kernel command line
 *  3. mount the squashfs on /dev/vda below a tmpfs overlay and make that the root; swap on
 *     /dev/vdb if asked for
 *  4. name the virtio-serial ports, start the guest agent on its port, start it again if it ends
 *
 * Words of the kernel command line: virtbed.ip=ADDRESS/PREFIX, virtbed.host=NAME, virtbed.swap=1.
 *
 * Called as "shutdown", as the agent's guest-shutdown does, it turns the machine off.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm-images/guest/ports.h"

#define AGENT_PORT "org.qemu.guest_agent.0"
#define DISK_DEADLINE_MS 120000

/* The settings of the kernel command line; an empty string: not given. */
struct settings {
	char ip[64];
	char host[64];
	bool swap;
};

/* Prints a line on the console, which is where an operator looks when no agent answers. */
static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	va_list arguments;

	fputs("virtbed-init: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

static void mount_or_say(const char *source, const char *target, const char *type,
			 unsigned long flags, const char *options)
{
	if (mount(source, target, type, flags, options) < 0)
		say("cannot mount %s on %s: %s", type ? type : source, target, strerror(errno));
}

static void mount_kernel_filesystems(void)
{
	mkdir("/dev", 0755);
	mkdir("/proc", 0555);
	mkdir("/sys", 0555);
	mount_or_say("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, NULL);
	mount_or_say("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_or_say("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* Loads a module and frees its memory in the initramfs. */
static void load_module(const char *directory, const char *name)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
		say("cannot load module '%s': %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	unlink(path);
}

static int is_module(const struct dirent *entry)
{
	return strstr(entry->d_name, ".ko") != NULL;
}

static void load_modules(const char *directory)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_module, alphasort);

	for (int i = 0; i < n; i++) {
		load_module(directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* Waits for a block device; devtmpfs creates the node when the driver has found the disk. */
static bool wait_for_disk(const char *path)
{
	for (int waited_ms = 0; waited_ms < DISK_DEADLINE_MS; waited_ms++) {
		if (access(path, F_OK) == 0)
			return true;
		poll(NULL, 0, 1);
	}
	say("no disk '%s' after %d ms", path, DISK_DEADLINE_MS);
	return false;
}

/* squashfs below, tmpfs above, the kernel's file systems moved along; then it is the root. */
static void enter_root(void)
{
	wait_for_disk("/dev/vda");
	mkdir("/lower", 0755);
	mkdir("/upper", 0755);
	mkdir("/root", 0755);
	mount_or_say("/dev/vda", "/lower", "squashfs", MS_RDONLY, NULL);
	mount_or_say("tmpfs", "/upper", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
	mkdir("/upper/data", 0755);
	mkdir("/upper/work", 0755);
	mount_or_say("overlay", "/root", "overlay", 0,
		     "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work");
	mount_or_say("/dev", "/root/dev", NULL, MS_MOVE, NULL);
	mount_or_say("/proc", "/root/proc", NULL, MS_MOVE, NULL);
	mount_or_say("/sys", "/root/sys", NULL, MS_MOVE, NULL);
	if (chdir("/root") < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		say("cannot enter the root file system: %s", strerror(errno));
	mkdir("/dev/shm", 01777);
	mount_or_say("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_or_say("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
}

static void copy_word(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

static void read_settings(struct settings *ret_settings)
{
	char line[4096] = "";
	FILE *file = fopen("/proc/cmdline", "re");
	char *rest = line;
	char *word;

	memset(ret_settings, 0, sizeof(*ret_settings));
	if (!file)
		return;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	while ((word = strsep(&rest, " \n"))) {
		if (strncmp(word, "virtbed.ip=", 11) == 0)
			copy_word(ret_settings->ip, sizeof(ret_settings->ip), word + 11);
		else if (strncmp(word, "virtbed.host=", 13) == 0)
			copy_word(ret_settings->host, sizeof(ret_settings->host), word + 13);
		else if (strcmp(word, "virtbed.swap=1") == 0)
			ret_settings->swap = true;
	}
}

static int set_address(int fd, const char *interface, unsigned long request, uint32_t address)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = address};
	struct ifreq request_data = {0};

	copy_word(request_data.ifr_name, sizeof(request_data.ifr_name), interface);
	memcpy(&request_data.ifr_addr, &in, sizeof(in));
	return ioctl(fd, request, &request_data);
}

static int set_up(int fd, const char *interface)
{
	struct ifreq request_data = {0};

	copy_word(request_data.ifr_name, sizeof(request_data.ifr_name), interface);
	request_data.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request_data);
}

/* Give @interface an address written as ADDRESS/PREFIX and bring it up. */
static void configure_interface(int fd, const char *interface, const char *cidr)
{
	char text[64];
	struct in_addr address;
	char *slash;
	long prefix;

	copy_word(text, sizeof(text), cidr);
	slash = strchr(text, '/');
	prefix = slash ? strtol(slash + 1, NULL, 10) : 0;
	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, text, &address) != 1 || prefix < 1 || prefix > 32) {
		say("bad address '%s': give ADDRESS/PREFIX", cidr);
		return;
	}
	if (set_address(fd, interface, SIOCSIFADDR, address.s_addr) < 0 ||
	    set_address(fd, interface, SIOCSIFNETMASK, htonl(~0U << (32 - prefix))) < 0 ||
	    set_up(fd, interface) < 0)
		say("cannot configure '%s': %s", interface, strerror(errno));
}

static void configure_network(const struct settings *settings)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (settings->host[0] != '\0' && sethostname(settings->host, strlen(settings->host)) < 0)
		say("cannot set the host name: %s", strerror(errno));
	if (fd < 0)
		return;
	configure_interface(fd, "lo", "127.0.0.1/8");
	if (settings->ip[0] != '\0')
		configure_interface(fd, "eth0", settings->ip);
	close(fd);
}

static void configure_swap(const struct settings *settings)
{
	if (!settings->swap || !wait_for_disk("/dev/vdb"))
		return;
	if (swapon("/dev/vdb", 0) < 0)
		say("cannot swap on '/dev/vdb': %s", strerror(errno));
}

/*
 * Opens the socket on which the kernel announces new ports, first without and then with their name.
 */
static int open_uevents(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		say("cannot listen for uevents: %s", strerror(errno));
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_child_events(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void drain(int fd)
{
	char buffer[8192];

	while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
		;
}

/* Starts the agent if its port exists; 0: not yet. */
static pid_t start_agent(void)
{
	char device[PORT_PATH_SIZE];
	sigset_t none;
	pid_t pid;

	if (!port_find(AGENT_PORT, device, sizeof(device)))
		return 0;
	pid = fork();
	if (pid != 0)
		return pid < 0 ? 0 : pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	execl("/usr/sbin/qemu-ga", "qemu-ga", "--method=virtio-serial", "--path", device,
	      "--statedir=/run", "--logfile=/run/qemu-ga.log", (char *)NULL);
	say("cannot start the guest agent: %s", strerror(errno));
	_exit(127);
}

/* Reaps ended children; true if @agent was among them. */
static bool reap(pid_t agent)
{
	bool ended = false;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		ended = ended || pid == agent;
	return ended;
}

static void serve(int uevents, int children)
{
	struct pollfd fds[] = {
		{.fd = uevents, .events = POLLIN},
		{.fd = children, .events = POLLIN},
	};
	pid_t agent = 0;

	for (;;) {
		port_link_all();
		if (agent == 0)
			agent = start_agent();
		/* without the agent check again from time to time, whatever the events */
		poll(fds, 2, agent == 0 ? 100 : -1);
		drain(uevents);
		drain(children);
		if (reap(agent))
			agent = 0;
	}
}

static int turn_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	perror("shutdown");
	return 1;
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	struct settings settings;
	int uevents, children;

	if (argc > 0 && strcmp(slash ? slash + 1 : argv[0], "shutdown") == 0)
		return turn_off();
	if (getpid() != 1) {
		fputs("virtbed-init: works as process 1 of a virtbed guest only\n", stderr);
		return 2;
	}

	mount_kernel_filesystems();
	load_modules("/modules");
	read_settings(&settings);
	/* early: the kernel takes up to a second until the link counts as running */
	configure_network(&settings);
	enter_root();
	configure_swap(&settings);
	uevents = open_uevents();
	children = open_child_events();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	serve(uevents, children);
	return 1;
}
