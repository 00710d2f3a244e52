/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that is a policy (docs/reference/policy-protocol.md) and decides as one of the tree
 * does; or misbehaves at some of its decisions, for tests and benchmarks.
 *
 *     twin [--differences] [--idle] [--models MODEL] [--bare] [--token TEXT] [--at N FAULT]
 *          [--until FILE] POLICY
 *
 * --idle has an empty plan at each event. --bare leaves out of actions what virtbed fills in.
 * --until is slow to start: it reads nothing until there is the file.
 * FAULT, at the Nth `decide` of this process (0: at all, and at the hello): hang, die, rubbish,
 * endless, late, illegal, error, fork, leak, busy, number, many, silent, network, write, calls,
 * look. With TWIN_GOOD in the environment there is none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"

struct twin {
	const char *policy;
	bool differences, bare, idle;
	const char *models;
	unsigned at;
	const char *fault; /* NULL: none */
	unsigned decided;
	json_t *system;
	GHashTable *tasks; /* differences: by id, json_t */
	char *late;        /* an answer that was not sent; NULL: none */
};

static void say(const char *text)
{
	fputs(text, stdout);
	fputc('\n', stdout);
	fflush(stdout);
}

static _Noreturn void hang(void)
{
	for (;;)
		pause();
}

/* A process that leaves the group and keeps the output open. */
static void leave_child(void)
{
	if (fork() == 0) {
		setsid();
		hang();
	}
}

/* Writes on until the reader is gone. */
static void write_endless(void)
{
	char *block = malloc(1 << 20);

	memset(block, 'x', 1 << 20);
	while (write(STDOUT_FILENO, block, 1 << 20) > 0)
		;
	exit(1);
}

static _Noreturn void leak(void)
{
	for (;;) {
		char *block = malloc(16 << 20);

		if (!block) {
			fputs("out of memory\n", stderr);
			exit(3);
		}
		memset(block, 1, 16 << 20);
	}
}

/* Refuses with what a connection to this machine gives. */
static void say_network(json_int_t number)
{
	const struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	const bool good = connect(fd, (const struct sockaddr *)&here, sizeof(here)) == 0;

	printf("{\"type\": \"error\", \"number\": %" JSON_INTEGER_FORMAT ", \"reason\": \"%s\"}\n",
	       number, good ? "connected" : strerror(errno));
	close(fd);
	fflush(stdout);
}

/* Refuses with what it gives to write a file where everyone may. */
static void say_write(json_int_t number)
{
	g_autofree char *path = g_strdup_printf("/var/tmp/virtbed-twin-%d", (int)getpid());
	const bool good = g_file_set_contents(path, "", 0, NULL);
	const int why = errno;

	printf("{\"type\": \"error\", \"number\": %" JSON_INTEGER_FORMAT
	       ", \"reason\": \"%s%s\"}\n",
	       number, good ? "written" : "cannot: ", good ? "" : strerror(why));
	unlink(path);
	fflush(stdout);
}

static bool connects(int fd)
{
	static const struct sockaddr_un nowhere = {AF_UNIX, "/nowhere"};

	return connect(fd, (const struct sockaddr *)&nowhere, sizeof(nowhere)) == 0;
}

/* Refuses with the first call that a sandbox lets it make of those by which it reaches others. */
static void say_calls(json_int_t number)
{
	g_autofree char *path = g_strdup_printf("/tmp/virtbed-twin-%d", (int)getpid());
	const bool made = g_file_set_contents(path, "", 0, NULL);
	const char *what = made ? "none" : "cannot make a file";
	struct shmid_ds memory;
	int pair[2] = {-1, -1};

#define TRY(name, call)                                                                            \
	if (errno = 0, (call) >= 0 || errno != EPERM)                                              \
		what = name;
	TRY("socket", socket(AF_UNIX, SOCK_STREAM, 0))
	TRY("internet socket", socket(AF_INET, SOCK_STREAM, 0))
	TRY("pair of datagrams", socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
	TRY("connect", connects(-1) ? 0 : -1)
	TRY("chmod", chmod(path, 04755))
	TRY("fchmodat", fchmodat(AT_FDCWD, path, 02755, 0))
	TRY("fchmodat2", syscall(452, AT_FDCWD, path, 04755, 0))
	TRY("open", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755))
	TRY("O_TMPFILE", open("/tmp", O_WRONLY | O_TMPFILE | O_CLOEXEC, 04755))
	TRY("mknod", mknod("/tmp", S_IFREG | 02755, 0))
	TRY("chown", chown(path, getuid(), getgid()))
	TRY("setxattr", setxattr(path, "user.twin", "x", 1, 0))
	TRY("removexattr", removexattr(path, "user.twin"))
	TRY("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL))
	TRY("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), NULL, 0UL, NULL, 0UL, 0UL))
	TRY("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL))
	TRY("shmget", shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600))
	TRY("shmctl", shmctl(0, IPC_STAT, &memory))
	TRY("msgget", msgget(IPC_PRIVATE, IPC_CREAT | 0600))
	TRY("semget", semget(IPC_PRIVATE, 1, IPC_CREAT | 0600))
	TRY("mq_open", syscall(SYS_mq_open, "twin", O_CREAT | O_RDWR, 0600, NULL))
	TRY("keyctl", syscall(SYS_keyctl, 0, -3, 0))
	TRY("mount", syscall(SYS_mount, NULL, "/", NULL, 0UL, NULL))
#undef TRY
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		what = "no pair of streams";
	printf("{\"type\": \"error\", \"number\": %" JSON_INTEGER_FORMAT ", \"reason\": \"%s\"}\n",
	       number, what);
	unlink(path);
	fflush(stdout);
}

/* Refuses with what it sees. */
static void say_look(json_int_t number)
{
	g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
	g_autofree char *score = NULL;
	struct rlimit files = {0};
	unsigned processes = 0;

	g_file_get_contents("/proc/self/oom_score_adj", &score, NULL, NULL);
	getrlimit(RLIMIT_NOFILE, &files);
	for (const char *name; (name = g_dir_read_name(dir));)
		processes += g_ascii_isdigit(*name);
	printf("{\"type\": \"error\", \"number\": %" JSON_INTEGER_FORMAT
	       ", \"reason\": \"oom score %ld, %ju files, home %s, VIRTBED_TWIN %s, TWIN %s, "
	       "%u processes\"}\n",
	       number, score ? strtol(score, NULL, 10) : 0, (uintmax_t)files.rlim_max,
	       getenv("HOME"), getenv("VIRTBED_TWIN") ? "kept" : "lost",
	       getenv("TWIN") ? "kept" : "lost", processes);
	fflush(stdout);
}

/* Misbehaves; whether the answer is given. */
static bool misbehave(struct twin *twin, json_int_t number)
{
	const char *fault = twin->fault;

	if (g_str_equal(fault, "hang"))
		hang();
	if (g_str_equal(fault, "die")) {
		fputs("Traceback: all is lost\n", stderr);
		exit(3);
	}
	if (g_str_equal(fault, "endless"))
		write_endless();
	if (g_str_equal(fault, "leak"))
		leak();
	if (g_str_equal(fault, "fork")) {
		leave_child();
		exit(0);
	}
	if (g_str_equal(fault, "busy"))
		for (;;)
			;
	if (g_str_equal(fault, "silent"))
		return false;
	if (g_str_equal(fault, "write")) {
		say_write(number);
		return false;
	}
	if (g_str_equal(fault, "calls")) {
		say_calls(number);
		return false;
	}
	if (g_str_equal(fault, "look")) {
		say_look(number);
		return false;
	}
	if (g_str_equal(fault, "network")) {
		say_network(number);
		return false;
	}
	if (g_str_equal(fault, "rubbish"))
		say("Segmentation fault (not really)");
	else if (g_str_equal(fault, "error"))
		printf("{\"type\": \"error\", \"number\": %" JSON_INTEGER_FORMAT
		       ", \"reason\": \"no idea\"}\n",
		       number);
	else if (g_str_equal(fault, "illegal"))
		printf("{\"type\": \"plan\", \"number\": %" JSON_INTEGER_FORMAT
		       ", \"actions\": [{\"kind\": \"drop\", \"task\": 4711}]}\n",
		       number);
	else if (g_str_equal(fault, "number"))
		printf("{\"type\": \"plan\", \"number\": %" JSON_INTEGER_FORMAT
		       ", \"actions\": []}\n",
		       number + 1);
	else if (g_str_equal(fault, "boasts"))
		printf("{\"type\": \"plan\", \"number\": %" JSON_INTEGER_FORMAT
		       ", \"actions\": [], \"compute_s\": 1e6, \"note\": \"a\\u001b[31mb\"}\n",
		       number);
	else if (g_str_equal(fault, "many"))
		for (int i = 0; i < 100000; i++)
			printf("{\"type\": \"plan\", \"number\": 0, \"actions\": []}\n");
	fflush(stdout);
	return g_str_equal(fault, "many") || g_str_equal(fault, "late");
}

static void greet(struct twin *twin, const json_t *message)
{
	g_autoptr(json_t) answer = json_pack("{s:s, s:i, s:s, s:b}", "type", "hello", "protocol", 1,
					     "name", "twin", "differences", (int)twin->differences);
	g_autofree char *text = NULL;

	if (twin->models)
		json_object_set_new(answer, "models", json_pack("[s]", twin->models));
	json_decref(twin->system);
	twin->system = json_incref(json_object_get(message, "system"));
	text = json_text(answer);
	if (!twin->fault || twin->at > 0 || misbehave(twin, 0))
		say(text);
}

/* Takes over what is new of the tasks. */
static void keep_tasks(struct twin *twin, const json_t *snapshot)
{
	json_t *task, *id;
	size_t i;

	json_array_foreach (json_object_get(snapshot, "tasks"), i, task)
		g_hash_table_insert(twin->tasks,
				    GUINT_TO_POINTER(
					    json_integer_value(json_object_get(task, "id"))),
				    json_incref(task));
	json_array_foreach (json_object_get(snapshot, "gone"), i, id)
		if (!g_hash_table_remove(twin->tasks, GUINT_TO_POINTER(json_integer_value(id)))) {
			fputs("a task is gone that was never there\n", stderr);
			exit(4);
		}
}

/* Puts all tasks into the snapshot. */
static void rebuild(struct twin *twin, json_t *snapshot)
{
	json_t *list = json_array();
	GHashTableIter iter;
	gpointer value;

	keep_tasks(twin, snapshot);
	g_hash_table_iter_init(&iter, twin->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		json_array_append(list, value);
	json_object_set_new(snapshot, "tasks", list);
	json_object_del(snapshot, "gone");
}

static void strip(json_t *actions)
{
	static const char *const filled[] = {"end_s", "energy_j", "utility", "objective", "reason"};
	json_t *action;
	size_t i;

	json_array_foreach (actions, i, action) {
		const char *kind = json_string_value(json_object_get(action, "kind"));

		for (size_t k = 0; k < G_N_ELEMENTS(filled); k++)
			json_object_del(action, filled[k]);
		if (g_str_equal(kind, "start") || g_str_equal(kind, "resume"))
			json_object_del(action, "start_s");
	}
}

static char *decide(struct twin *twin, json_t *message)
{
	json_t *snapshot = json_object_get(message, "snapshot");
	g_autoptr(snapshot_json_t) read = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) answer = NULL;
	struct policy_context context = {.arena = arena_new()};
	struct sched_plan plan;
	struct policy policy;
	char wrong[512];
	int64_t begun_ns;
	double compute_s;

	if (twin->differences)
		rebuild(twin, snapshot);
	if (json_object_get(snapshot, "system")) {
		json_decref(twin->system);
		twin->system = json_incref(json_object_get(snapshot, "system"));
	}
	json_object_set(snapshot, "system", twin->system);
	read = snapshot_json_read(snapshot, "the snapshot", &error);
	begun_ns = clock_now_ns();
	if (!read || policy_parse(twin->policy, &policy, wrong, sizeof(wrong)) < 0 ||
	    policy_decide(&policy, &read->snapshot, &context, &plan) < 0) {
		fprintf(stderr, "%s\n", error ? error->message : wrong);
		exit(5);
	}
	compute_s = clock_elapsed_s(begun_ns, clock_now_ns());
	answer = json_pack("{s:s, s:O, s:o, s:f}", "type", "plan", "number",
			   json_object_get(message, "number"), "actions",
			   snapshot_json_actions(read->system, &plan, false), "compute_s",
			   compute_s);
	if (plan.note)
		json_object_set_new(answer, "note", json_string(plan.note));
	if (twin->bare)
		strip(json_object_get(answer, "actions"));
	arena_free(context.arena);
	return json_text(answer);
}

/* Keeps what it is told, and has an empty plan. */
static char *idle(struct twin *twin, json_t *message)
{
	g_autoptr(json_t) answer = json_pack("{s:s, s:O, s:[]}", "type", "plan", "number",
					     json_object_get(message, "number"), "actions");

	if (twin->differences)
		keep_tasks(twin, json_object_get(message, "snapshot"));
	return json_text(answer);
}

static void handle(struct twin *twin, const char *line, size_t length)
{
	g_autoptr(json_t) message = json_parse(line, length, "a message", NULL);
	const char *type = json_string_value(json_object_get(message, "type"));
	g_autofree char *answer = NULL;
	bool faulty;

	if (g_strcmp0(type, "hello") == 0) {
		greet(twin, message);
		return;
	}
	if (g_strcmp0(type, "decide") != 0)
		exit(g_strcmp0(type, "bye") == 0 ? 0 : 6);
	answer = twin->idle ? idle(twin, message) : decide(twin, message);
	if (twin->late) {
		say(twin->late);
		g_clear_pointer(&twin->late, g_free);
	}
	twin->decided++;
	faulty =
		twin->fault && !getenv("TWIN_GOOD") && (twin->at == twin->decided || twin->at == 0);
	if (faulty && g_str_equal(twin->fault, "late"))
		twin->late = g_steal_pointer(&answer);
	else if (!faulty || misbehave(twin, json_integer_value(json_object_get(message, "number"))))
		say(answer);
}

static void wait_for(const char *file)
{
	while (access(file, F_OK) < 0)
		g_usleep(G_USEC_PER_SEC / 1000);
}

int main(int argc, char **argv)
{
	struct twin twin = {
		.tasks = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)json_decref),
	};
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	for (int i = 1; i < argc; i++) {
		if (g_str_equal(argv[i], "--differences"))
			twin.differences = true;
		else if (g_str_equal(argv[i], "--bare"))
			twin.bare = true;
		else if (g_str_equal(argv[i], "--idle"))
			twin.idle = true;
		else if (g_str_equal(argv[i], "--models") && i + 1 < argc)
			twin.models = argv[++i];
		else if (g_str_equal(argv[i], "--token") && i + 1 < argc)
			i++;
		else if (g_str_equal(argv[i], "--until") && i + 1 < argc)
			wait_for(argv[++i]);
		else if (g_str_equal(argv[i], "--at") && i + 2 < argc) {
			twin.at = (unsigned)strtoul(argv[++i], NULL, 10);
			twin.fault = argv[++i];
		} else
			twin.policy = argv[i];
	}
	while ((length = getline(&line, &size, stdin)) > 0)
		handle(&twin, line, (size_t)length);
	free(line);
	json_decref(twin.system);
	g_hash_table_unref(twin.tasks);
	return 7; /* without a bye */
}
