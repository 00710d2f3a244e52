/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * seccomp(2), mode filter. A path in a Unix socket's address is no file that is opened, and so
 * neither a network namespace nor Landlock keeps a program from the sockets of its user; that of a
 * controller takes it for an operator. Nor does Landlock know modes, owners, times and attributes
 * of files (landlock(7), "Current limitations"); file systems that are mounted read-only keep them.
 * A file with a set-id bit would give the user of the sandbox to others.
 */
#include "controller/plugin/host/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__) && defined(__AARCH64EL__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the sandbox of policies knows the system calls of x86-64 and aarch64 alone: add this one here"
#endif

/* System calls that Debian 12 has no names of. Numbers from 424 on hold on all architectures. */
enum later_calls {
	CALL_FCHMODAT2 = 452,
	CALL_SETXATTRAT = 463,
	CALL_REMOVEXATTRAT = 466,
	CALL_FILE_SETATTR = 469,
};

/* Modes and times of files; the argument that is the mode, or NO_MODE. */
#define NO_MODE (-1)
static const struct {
	unsigned call;
	int mode;
} of_files[] = {
#ifdef SYS_chmod /* not on aarch64 */
	{SYS_chmod, 1},  {SYS_utime, NO_MODE}, {SYS_utimes, NO_MODE}, {SYS_futimesat, NO_MODE},
#endif
	{SYS_fchmod, 1}, {SYS_fchmodat, 2},    {CALL_FCHMODAT2, 2},   {SYS_utimensat, NO_MODE},
};

/* Calls that make files: the argument that is the mode, and that of the flags, or NO_FLAGS. */
#define NO_FLAGS (-1)
static const struct {
	unsigned call;
	int mode, flags;
} makers[] = {
#ifdef SYS_open
	{SYS_open, 2, 1},   {SYS_creat, 1, NO_FLAGS},   {SYS_mknod, 1, NO_FLAGS},
#endif
	{SYS_openat, 3, 2}, {SYS_mknodat, 2, NO_FLAGS},
};

/* Other refused calls that are not about sockets. */
static const unsigned refused[] = {
#ifdef SYS_chown
	SYS_chown,
	SYS_lchown,
#endif
	SYS_fchown,
	SYS_fchownat,
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
	/* Memory, queues and semaphores of System V and POSIX, which stay when it has ended. */
	SYS_shmget,
	SYS_shmat,
	SYS_shmctl,
	SYS_msgget,
	SYS_msgsnd,
	SYS_msgrcv,
	SYS_msgctl,
	SYS_semget,
	SYS_semop,
	SYS_semtimedop,
	SYS_semctl,
	SYS_mq_open,
	SYS_mq_unlink,
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* More than any of the cases below has. */
#define INSTRUCTIONS_MAX (2 * COUNT(refused) + 5 * COUNT(of_files) + 7 * COUNT(makers) + 32)
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

/* In these cases the number of the call is loaded before and after. */

/* If it is `call`, the next `length` instructions decide. */
static void add_call(struct program *program, unsigned call, unsigned length)
{
	add(program, BPF_JMP | BPF_JEQ | BPF_K, call, 0, length);
}

/* Of socket() or socketpair(): streams alone, and not datagrams, which take any address. */
static void add_streams(struct program *program)
{
	add_load_argument(program, 1);
	add(program, BPF_ALU | BPF_AND | BPF_K, TYPE_MASK, 0, 0);
	add_case(program, SOCK_STREAM, ALLOW);
	add_case(program, SOCK_SEQPACKET, ALLOW);
	add_return(program, REFUSE);
}
#define STREAMS_LENGTH 7

static void add_sockets(struct program *program, enum syscall_sockets sockets)
{
	if (sockets == SYSCALL_SOCKETS_UNIX) {
		add_call(program, SYS_socket, 4);
		add_load_argument(program, 0);
		add_case(program, AF_UNIX, ALLOW);
		add_return(program, REFUSE);
		return;
	}
	if (sockets == SYSCALL_SOCKETS_LISTEN) {
		add_call(program, SYS_socket, 3 + STREAMS_LENGTH);
		add_load_argument(program, 0);
		add(program, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
		add_return(program, REFUSE);
		add_streams(program);
	} else {
		add_case(program, SYS_socket, REFUSE);
	}
	add_case(program, SYS_connect, REFUSE);
	add_call(program, SYS_socketpair, STREAMS_LENGTH);
	add_streams(program);
}

/* The mode in an argument has no set-id bits. */
static void add_mode(struct program *program, unsigned argument)
{
	add_load_argument(program, argument);
	add(program, BPF_JMP | BPF_JSET | BPF_K, S_ISUID | S_ISGID, 0, 1);
	add_return(program, REFUSE);
	add_return(program, ALLOW);
}
#define MODE_LENGTH 4

static void add_files(struct program *program, bool times_and_modes)
{
	for (size_t i = 0; i < COUNT(of_files); i++) {
		if (!times_and_modes) {
			add_case(program, of_files[i].call, REFUSE);
		} else if (of_files[i].mode != NO_MODE) {
			add_call(program, of_files[i].call, MODE_LENGTH);
			add_mode(program, (unsigned)of_files[i].mode);
		}
	}
	for (size_t i = 0; i < COUNT(makers); i++) {
		const bool flags = makers[i].flags != NO_FLAGS;

		add_call(program, makers[i].call, MODE_LENGTH + (flags ? 2 : 0));
		/* Otherwise the mode is not looked at, and may be anything. */
		if (flags) {
			add_load_argument(program, (unsigned)makers[i].flags);
			add(program, BPF_JMP | BPF_JSET | BPF_K,
			    O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 0, MODE_LENGTH - 1);
		}
		add_mode(program, (unsigned)makers[i].mode);
	}
	/* Its mode is in memory. What uses it takes openat() then. */
	add_case(program, SYS_openat2, SECCOMP_RET_ERRNO | ENOSYS);
}

bool syscall_filter_install(enum syscall_sockets sockets, bool times_and_modes)
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
	add_sockets(&program, sockets);
	add_files(&program, times_and_modes);
	for (size_t i = 0; i < COUNT(refused); i++)
		add_case(&program, refused[i], REFUSE);
	add_return(&program, ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		     &(const struct sock_fprog){program.length, program.code}) == 0;
}
