/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * seccomp(2), mode filter. A path in a Unix socket's address is no file that is opened, and so
 * neither a network namespace nor Landlock keeps a program from the sockets of its user; that of a
 * controller takes it for an operator. Nor does Landlock know modes, owners, times and attributes
 * of files (landlock(7), "Current limitations").
 */
#include "controller/plugin/host/syscall_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

/* System calls that Debian 12 has no names of. Numbers from 424 on hold on all architectures. */
enum later_calls {
	CALL_FCHMODAT2 = 452,
	CALL_SETXATTRAT = 463,
	CALL_REMOVEXATTRAT = 466,
	CALL_FILE_SETATTR = 469,
};

/* connect() and socket() stand apart. */
static const unsigned refused[] = {
#ifdef SYS_chmod /* not on aarch64 */
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
	SYS_fchmod,
	SYS_fchmodat,
	CALL_FCHMODAT2,
	SYS_fchown,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	CALL_SETXATTRAT,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	CALL_REMOVEXATTRAT,
	CALL_FILE_SETATTR,
	/* Their requests pass by a filter. */
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	/* Other processes. */
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_pidfd_getfd,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	/* Keys of the user. */
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	/* Other files in the places of these. */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_open_tree,
	SYS_move_mount,
	SYS_mount_setattr,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
};

#define REFUSED_COUNT (sizeof(refused) / sizeof(refused[0]))
#define INSTRUCTIONS_MAX (2 * REFUSED_COUNT + 32)
/* Of a type of sockets without its flags, as SOCK_TYPE_MASK of the kernel. */
#define TYPE_MASK 0xf

struct program {
	struct sock_filter code[INSTRUCTIONS_MAX];
	unsigned short length;
};

static void add(struct program *program, unsigned code, unsigned operand, unsigned yes, unsigned no)
{
	program->code[program->length++] =
		(struct sock_filter){(__u16)code, (__u8)yes, (__u8)no, operand};
}

static void add_load(struct program *program, size_t offset)
{
	add(program, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

/* The low half of an argument, which is all of an int. Both architectures are little-endian. */
static void add_load_argument(struct program *program, unsigned number)
{
	add_load(program, offsetof(struct seccomp_data, args) + number * sizeof(__u64));
}

static void add_return(struct program *program, unsigned what)
{
	add(program, BPF_RET | BPF_K, what, 0, 0);
}

/* If what was loaded equals `value`, the filter ends with `what`. */
static void add_case(struct program *program, unsigned value, unsigned what)
{
	add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	add_return(program, what);
}

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

/* The number of the call is loaded before and after. */
static void add_sockets(struct program *program, bool unix_sockets)
{
	if (unix_sockets) {
		add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4);
		add_load_argument(program, 0);
		add_case(program, AF_UNIX, ALLOW);
		add_return(program, REFUSE);
		return;
	}
	add_case(program, SYS_socket, REFUSE);
	add_case(program, SYS_connect, REFUSE);
	/* sendmsg() on one of a pair of datagrams takes any address. */
	add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 0, 7);
	add_load_argument(program, 1);
	add(program, BPF_ALU | BPF_AND | BPF_K, TYPE_MASK, 0, 0);
	add_case(program, SOCK_STREAM, ALLOW);
	add_case(program, SOCK_SEQPACKET, ALLOW);
	add_return(program, REFUSE);
}

bool syscall_filter_install(bool unix_sockets)
{
	struct program program = {.length = 0};

	add_load(&program, offsetof(struct seccomp_data, arch));
	add(&program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	add_return(&program, SECCOMP_RET_KILL_PROCESS);
	add_load(&program, offsetof(struct seccomp_data, nr));
#ifdef X32_BIT
	add(&program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	add_return(&program, SECCOMP_RET_KILL_PROCESS);
#endif
	add_sockets(&program, unix_sockets);
	for (size_t i = 0; i < REFUSED_COUNT; i++)
		add_case(&program, refused[i], REFUSE);
	add_return(&program, ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		     &(const struct sock_fprog){program.length, program.code}) == 0;
}

#else

bool syscall_filter_install(bool unix_sockets)
{
	(void)unix_sockets;
	errno = ENOSYS;
	return false;
}

#endif
