/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Guests of VMs in memory: an agent, and the programs that a local scheduler has it start. A guest
 * has a clock that stands still while its VM does.
 */
#include <jansson.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/json.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "tests/virtual/virtual_libvirt_private.h"

#define IDLE_SHARE 0.02 /* of a core */
#define START_MS 40     /* of a program */
#define PORT_MS 1       /* of bytes from the host */
#define STEPS 20
#define PRINTED "/run/virtbed-rank.0.out"

enum { KILLED = 137, NOT_STARTED = 127 };

/* Something that happens in a guest at a time of its clock. */
struct alarm {
	int64_t due_ns;
	void (*ring)(struct guest *guest, void *data);
	void *data;
};

/* What a rank does next. */
enum rank_state {
	RANK_STARTS = 0,
	RANK_GREETS, /* waits for an answer to its init */
	RANK_MEETS,  /* waits in the first barrier */
	RANK_WORKS,  /* its steps */
	RANK_PARTS,  /* waits in the last barrier */
	RANK_LEAVES, /* waits for an answer to its finalize */
};

struct process {
	guint pid;
	bool exited;
	int status;
	GString *out;
	GString *err;
	/* Of "virtbed-rank run"; -1: another program. */
	int core;
	bool script;
	guint rank;
	guint size;
	guint repetitions;
	char *benchmark;
	enum rank_state state;
	guint step;
	GString *input; /* of its port */
};

struct port {
	char *name;
	GByteArray *waiting; /* bytes until it is opened */
};

struct guest {
	struct virtual_vm *vm;
	bool runs;
	int64_t ns;       /* of its clock, when it began to run */
	int64_t since_ns; /* of the platform, then */
	GQueue alarms;    /* struct alarm, the earliest first */
	guint source;
	uint64_t cpu_ns;
	int64_t cpu_at_ns; /* of its clock, up to which cpu_ns counts */
	bool booted;
	bool hangs, rubbish, gone; /* its agent */
	bool cut_off;              /* its network */
	bool stuck;                /* its ranks */
	guint next_pid;
	GPtrArray *processes;
	GPtrArray *ports;
	size_t read; /* of the file of printed text */
};

/* The clock. */

static const struct platform *platform_of(const struct guest *guest)
{
	return guest->vm->host->platform;
}

static int64_t now_ns(const struct guest *guest)
{
	return guest->ns +
	       (guest->runs ? platform_now_ns(platform_of(guest)) - guest->since_ns : 0);
}

static void set_timer(struct guest *guest);

static gboolean on_timer(gpointer data)
{
	struct guest *guest = data;
	struct alarm *alarm = g_queue_pop_head(&guest->alarms);
	void (*ring)(struct guest * guest, void *data) = alarm->ring;
	void *ring_data = alarm->data;

	guest->source = 0;
	g_free(alarm);
	set_timer(guest);
	ring(guest, ring_data);
	return G_SOURCE_REMOVE;
}

static void set_timer(struct guest *guest)
{
	const struct alarm *first = g_queue_peek_head(&guest->alarms);

	g_clear_handle_id(&guest->source, g_source_remove);
	if (guest->runs && first)
		guest->source =
			platform_after_ms(platform_of(guest),
					  (guint)(MAX(first->due_ns - now_ns(guest), 0) / 1000000),
					  on_timer, guest);
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct alarm *one = a;
	const struct alarm *other = b;

	return one->due_ns > other->due_ns ? 1 : -1; /* those of one time in their order */
}

static void after(struct guest *guest, double ms, void (*ring)(struct guest *guest, void *data),
		  void *data)
{
	struct alarm *alarm = g_new(struct alarm, 1);

	*alarm = (struct alarm){now_ns(guest) + (int64_t)(ms * 1e6), ring, data};
	g_queue_insert_sorted(&guest->alarms, alarm, compare, NULL);
	set_timer(guest);
}

static bool is_working(const struct process *process)
{
	return !process->exited && process->core >= 0 &&
	       (process->script || process->state == RANK_WORKS);
}

/* The part of a core that a core of it gets. */
static double speed(const struct virtual_vm *vm)
{
	return vm->quota_us > 0 && vm->period_us > 0
		       ? CLAMP((double)vm->quota_us / (double)vm->period_us / vm->cores, 0.01, 1)
		       : 1;
}

uint64_t virtual_guest_cpu_ns(struct guest *guest)
{
	const int64_t at_ns = now_ns(guest);
	double cores = guest->booted ? IDLE_SHARE : 1;

	for (guint i = 0; i < guest->processes->len; i++)
		cores += is_working(guest->processes->pdata[i]) && !guest->stuck;
	guest->cpu_ns += (uint64_t)((double)(at_ns - guest->cpu_at_ns) *
				    MIN(cores, guest->vm->cores) * speed(guest->vm));
	guest->cpu_at_ns = at_ns;
	return guest->cpu_ns;
}

void virtual_guest_run(struct guest *guest, bool runs)
{
	if (guest->runs == runs)
		return;
	virtual_guest_cpu_ns(guest);
	guest->ns = now_ns(guest);
	guest->since_ns = platform_now_ns(platform_of(guest));
	guest->runs = runs;
	set_timer(guest);
}

/* Ports. */

static struct port *port_of(struct guest *guest, const char *name)
{
	struct port *port;

	for (guint i = 0; i < guest->ports->len; i++) {
		port = guest->ports->pdata[i];
		if (g_str_equal(port->name, name))
			return port;
	}
	port = g_new0(struct port, 1);
	port->name = g_strdup(name);
	port->waiting = g_byte_array_new();
	g_ptr_array_add(guest->ports, port);
	return port;
}

/* A guest keeps its bytes until the port is opened at the host. */
static void flush(struct guest *guest, struct port *port)
{
	if (port->waiting->len > 0 &&
	    virtual_port_output(guest->vm, port->name, port->waiting->data, port->waiting->len))
		g_byte_array_set_size(port->waiting, 0);
}

static void G_GNUC_PRINTF(3, 4)
	say(struct guest *guest, const struct process *process, const char *format, ...)
{
	g_autofree char *name = g_strdup_printf(DOMAIN_PMI_PORT, (guint)process->core);
	struct port *port = port_of(guest, name);
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_byte_array_append(port->waiting, (const guint8 *)text, (guint)strlen(text));
	flush(guest, port);
}

void virtual_guest_opened(struct guest *guest, const char *port)
{
	flush(guest, port_of(guest, port));
}

/* Processes. */

static struct process *find(const struct guest *guest, guint pid)
{
	for (guint i = 0; i < guest->processes->len; i++)
		if (((struct process *)guest->processes->pdata[i])->pid == pid)
			return guest->processes->pdata[i];
	return NULL;
}

static void process_free(gpointer data)
{
	struct process *process = data;

	g_string_free(process->out, TRUE);
	g_string_free(process->err, TRUE);
	g_string_free(process->input, TRUE);
	g_free(process->benchmark);
	g_free(process);
}

static void end(struct guest *guest, struct process *process, int status)
{
	if (process->exited)
		return;
	virtual_guest_cpu_ns(guest);
	process->exited = true;
	process->status = status;
	if (process->core >= 0)
		say(guest, process, "cmd=virtbed_exit status=%d\n", status);
}

static void print_result(struct process *process)
{
	const struct benchmark *benchmark = benchmark_find(process->benchmark);
	const guint blocks = benchmark ? benchmark->blocks : 1;

	for (guint i = 0; i < blocks; i++)
		g_string_append_printf(process->out,
				       " Time in seconds =         %u.00\n"
				       " Verification    =               SUCCESSFUL\n",
				       process->repetitions);
}

static void step(struct guest *guest, void *data)
{
	struct process *process = find(guest, GPOINTER_TO_UINT(data));
	const struct virtual_times *times = &guest->vm->host->libvirt->times;

	if (!process || process->exited)
		return;
	if (guest->stuck) {
		after(guest, 1000, step, data);
		return;
	}
	if (process->step == STEPS && process->script) {
		g_string_append(process->out, "done\n");
		end(guest, process, 0);
		return;
	}
	if (process->rank == 0 && process->step > 0 && !process->script)
		say(guest, process, "cmd=progress done=%u total=%u\n", process->step, STEPS);
	if (process->step == STEPS) {
		virtual_guest_cpu_ns(guest);
		process->state = RANK_PARTS;
		say(guest, process, "cmd=barrier_in\n");
		return;
	}
	process->step++;
	after(guest, (double)times->repetition_ms * process->repetitions / STEPS / speed(guest->vm),
	      step, data);
}

static void begin(struct guest *guest, void *data)
{
	struct process *process = find(guest, GPOINTER_TO_UINT(data));

	if (!process || process->exited)
		return;
	if (process->script) {
		step(guest, data);
		return;
	}
	process->state = RANK_GREETS;
	say(guest, process, "cmd=init pmi_version=1 pmi_subversion=1\n");
}

/* An answer of the local scheduler to a rank. */
static void hear(struct guest *guest, struct process *process, const char *line)
{
	if (process->state == RANK_GREETS && g_str_has_prefix(line, "cmd=response_to_init")) {
		process->state = RANK_MEETS;
		say(guest, process, "cmd=put kvsname=virtbed key=P%u-businesscard value=r%u\n",
		    process->rank, process->rank);
		say(guest, process, "cmd=barrier_in\n");
	} else if (process->state == RANK_MEETS && g_str_has_prefix(line, "cmd=barrier_out")) {
		virtual_guest_cpu_ns(guest);
		process->state = RANK_WORKS;
		step(guest, GUINT_TO_POINTER(process->pid));
	} else if (process->state == RANK_PARTS && g_str_has_prefix(line, "cmd=barrier_out")) {
		process->state = RANK_LEAVES;
		say(guest, process, "cmd=finalize\n");
	} else if (process->state == RANK_LEAVES && g_str_has_prefix(line, "cmd=finalize_ack")) {
		if (process->rank == 0)
			print_result(process);
		end(guest, process, 0);
	}
}

/* The process that has a port. */
static struct process *owner_of(const struct guest *guest, const char *port)
{
	for (guint i = 0; i < guest->processes->len; i++) {
		struct process *process = guest->processes->pdata[i];
		g_autofree char *name =
			g_strdup_printf(DOMAIN_PMI_PORT, (guint)MAX(process->core, 0));

		if (process->core >= 0 && !process->exited && g_str_equal(name, port))
			return process;
	}
	return NULL;
}

/* Bytes on their way into the guest. */
struct letter {
	char *port;
	GBytes *bytes;
};

static void letter_free(struct letter *letter)
{
	g_bytes_unref(letter->bytes);
	g_free(letter->port);
	g_free(letter);
}

static void deliver(struct guest *guest, void *data)
{
	struct letter *letter = data;
	struct process *process = owner_of(guest, letter->port);
	gsize length;
	const char *bytes = g_bytes_get_data(letter->bytes, &length);
	char *end;

	if (process)
		g_string_append_len(process->input, bytes, (gssize)length);
	while (process && !process->exited && (end = strchr(process->input->str, '\n'))) {
		g_autofree char *line =
			g_strndup(process->input->str, (gsize)(end - process->input->str));

		g_string_erase(process->input, 0, end - process->input->str + 1);
		hear(guest, process, line);
	}
	letter_free(letter);
}

void virtual_guest_input(struct guest *guest, const char *port, const void *bytes, size_t length)
{
	struct letter *letter = g_new(struct letter, 1);

	*letter = (struct letter){g_strdup(port), g_bytes_new(bytes, length)};
	after(guest, PORT_MS, deliver, letter);
}

/* The network. */

/* Whether a VM is in reach and has an address. */
static bool is_at(const struct virtual_vm *vm, const char *address)
{
	g_autofree char *argument = g_strdup_printf(" virtbed.ip=%s/", address);

	return vm->guest && vm->guest->runs && !vm->guest->cut_off && strstr(vm->xml, argument);
}

static bool reaches(const struct guest *guest, const char *address)
{
	const GPtrArray *hosts = guest->vm->host->libvirt->hosts;

	for (guint i = 0; !guest->cut_off && i < hosts->len; i++) {
		const struct virtual_host *host = hosts->pdata[i];

		for (guint k = 0; !host->cut && k < host->vms->len; k++)
			if (is_at(host->vms->pdata[k], address))
				return true;
	}
	return false;
}

/* The agent. */

static const char *text_of(const json_t *array, size_t index)
{
	return json_string_value(json_array_get(array, index)) ?: "";
}

/* The number of an environment variable. */
static guint variable(const json_t *environment, const char *name)
{
	for (size_t i = 0; i < json_array_size(environment); i++) {
		const char *one = text_of(environment, i);

		if (g_str_has_prefix(one, name) && one[strlen(name)] == '=')
			return (guint)g_ascii_strtoull(one + strlen(name) + 1, NULL, 10);
	}
	return 0;
}

static struct process *process_new(struct guest *guest)
{
	struct process *process = g_new0(struct process, 1);

	process->pid = ++guest->next_pid;
	process->core = -1;
	process->out = g_string_new(NULL);
	process->err = g_string_new(NULL);
	process->input = g_string_new(NULL);
	g_ptr_array_add(guest->processes, process);
	return process;
}

static void run_rank(struct guest *guest, struct process *process, const json_t *words,
		     const json_t *environment)
{
	process->core = (int)g_ascii_strtoll(text_of(words, 1), NULL, 10);
	process->repetitions = 1;
	process->rank = variable(environment, "PMI_RANK");
	process->size = variable(environment, "PMI_SIZE");
	for (size_t i = 2; i < json_array_size(words); i++) {
		const char *word = text_of(words, i);

		if (g_str_equal(word, "--unpack"))
			process->script = true;
		else if (g_str_equal(word, "--repetitions"))
			process->repetitions =
				(guint)g_ascii_strtoull(text_of(words, i + 1), NULL, 10);
		else if (!process->benchmark && word[0] == '/')
			process->benchmark = g_path_get_basename(word);
	}
	g_string_append(process->out, "begun\n");
	g_string_truncate(process->input, 0);
	after(guest, START_MS, begin, GUINT_TO_POINTER(process->pid));
}

static void kill_rank(struct guest *guest, const char *core)
{
	g_autofree char *port = g_strconcat("virtbed.pmi.", core, NULL);
	struct process *victim = owner_of(guest, port);

	if (victim)
		end(guest, victim, KILLED);
}

static void end_well(struct guest *guest, void *data)
{
	struct process *process = find(guest, GPOINTER_TO_UINT(data));

	if (process)
		end(guest, process, 0);
}

static json_t *exec(struct guest *guest, const json_t *arguments, char **ret_refusal)
{
	const char *path = json_string_value(json_object_get(arguments, "path")) ?: "";
	const json_t *words = json_object_get(arguments, "arg");
	const bool rank = g_str_has_suffix(path, "/virtbed-rank");
	struct process *process;

	if (!rank && !g_str_has_suffix(path, "/ping")) {
		*ret_refusal = g_strdup("Guest agent command failed, error was 'Failed to execute "
					"child process'");
		return NULL;
	}
	process = process_new(guest);
	if (rank && g_str_equal(text_of(words, 0), "run")) {
		run_rank(guest, process, words, json_object_get(arguments, "env"));
	} else if (rank) {
		kill_rank(guest, text_of(words, 1));
		after(guest, START_MS, end_well, GUINT_TO_POINTER(process->pid));
	} else {
		process->exited = !reaches(guest, text_of(words, json_array_size(words) - 1));
		process->status = process->exited;
		after(guest, START_MS, end_well, GUINT_TO_POINTER(process->pid));
	}
	return json_pack("{s:i}", "pid", (int)process->pid);
}

static void put_output(json_t *object, const char *key, const GString *text)
{
	g_autofree char *base64 = g_base64_encode((const guchar *)text->str, text->len);

	if (text->len > 0)
		json_object_set_new(object, key, json_string(base64));
}

/* The end of a process is reported once. */
static json_t *exec_status(struct guest *guest, const json_t *arguments, char **ret_refusal)
{
	struct process *process =
		find(guest, (guint)json_integer_value(json_object_get(arguments, "pid")));
	json_t *object = json_object();

	if (!process) {
		json_decref(object);
		*ret_refusal = g_strdup("Invalid parameter 'pid'");
		return NULL;
	}
	json_object_set_new(object, "exited", json_boolean(process->exited));
	if (!process->exited)
		return object;
	json_object_set_new(object, "exitcode", json_integer(process->status));
	put_output(object, "out-data", process->out);
	put_output(object, "err-data", process->err);
	g_ptr_array_remove(guest->processes, process);
	return object;
}

/* What the rank on core 0 has printed. */
static const GString *printed(const struct guest *guest)
{
	for (guint i = guest->processes->len; i > 0; i--) {
		const struct process *process = guest->processes->pdata[i - 1];

		if (process->core == 0)
			return process->out;
	}
	return NULL;
}

static json_t *file_read(struct guest *guest)
{
	const GString *text = printed(guest);
	const size_t left = text && text->len > guest->read ? text->len - guest->read : 0;
	g_autofree char *base64 =
		g_base64_encode((const guchar *)(text && left ? text->str + guest->read : ""),
				left);

	guest->read += left;
	return json_pack("{s:i, s:s, s:b}", "count", (int)left, "buf-b64", base64, "eof",
			 left == 0);
}

static json_t *answer(struct guest *guest, const char *command, const json_t *arguments,
		      char **ret_refusal)
{
	if (g_str_equal(command, "guest-sync"))
		return json_incref(json_object_get(arguments, "id"));
	if (g_str_equal(command, "guest-exec"))
		return exec(guest, arguments, ret_refusal);
	if (g_str_equal(command, "guest-exec-status"))
		return exec_status(guest, arguments, ret_refusal);
	if (g_str_equal(command, "guest-file-open")) {
		guest->read = 0;
		return json_integer(1000);
	}
	if (g_str_equal(command, "guest-file-read"))
		return file_read(guest);
	if (g_str_equal(command, "guest-ping") || g_str_equal(command, "guest-set-time") ||
	    g_str_equal(command, "guest-file-close"))
		return json_object();
	*ret_refusal = g_strdup_printf("The command %s has not been found", command);
	return NULL;
}

char *virtual_guest_ask(struct guest *guest, const char *request, char **ret_refusal)
{
	g_autoptr(json_t) document = json_loads(request, 0, NULL);
	const char *command = json_string_value(json_object_get(document, "execute")) ?: "";
	json_t *value;
	g_autoptr(json_t) reply = NULL;

	*ret_refusal = NULL;
	if (guest->rubbish)
		return g_strdup("{\"return\":\"\\u00bf\"}");
	value = answer(guest, command, json_object_get(document, "arguments"), ret_refusal);
	if (!value)
		return NULL;
	reply = json_object();
	json_object_set_new(reply, "return", value);
	return json_text(reply);
}

bool virtual_guest_has_agent(const struct guest *guest)
{
	return guest->booted && !guest->gone;
}

bool virtual_guest_agent_hangs(const struct guest *guest)
{
	return guest->hangs;
}

/* Faults. */

static void each_rank(struct guest *guest, void (*act)(struct guest *guest, struct process *rank))
{
	for (guint i = 0; i < guest->processes->len; i++) {
		struct process *process = guest->processes->pdata[i];

		if (process->core >= 0 && !process->exited)
			act(guest, process);
	}
}

static void crash(struct guest *guest, struct process *process)
{
	end(guest, process, 1);
}

static void babble(struct guest *guest, struct process *process)
{
	say(guest, process, "what is this\n");
}

static void set_gone(struct guest *guest, bool gone)
{
	if (guest->booted && guest->gone != gone)
		virtual_agent_event(guest->vm, !gone);
	guest->gone = gone;
}

void virtual_guest_trouble(struct guest *guest, enum virtual_trouble trouble)
{
	switch (trouble) {
	case VIRTUAL_AGENT_HANGS:
		guest->hangs = true;
		break;
	case VIRTUAL_AGENT_RUBBISH:
		guest->rubbish = true;
		break;
	case VIRTUAL_AGENT_GONE:
		set_gone(guest, true);
		break;
	case VIRTUAL_AGENT_WELL:
		guest->hangs = guest->rubbish = false;
		set_gone(guest, false);
		break;
	case VIRTUAL_TASK_CRASHES:
		each_rank(guest, crash);
		break;
	case VIRTUAL_TASK_HANGS:
		virtual_guest_cpu_ns(guest);
		guest->stuck = true;
		break;
	case VIRTUAL_PORTS_RUBBISH:
		each_rank(guest, babble);
		break;
	case VIRTUAL_NETWORK_CUT:
		guest->cut_off = true;
		break;
	default:
		g_assert_not_reached();
	}
}

/* Life. */

static void booted(struct guest *guest, void *data)
{
	virtual_guest_cpu_ns(guest);
	guest->booted = true;
	if (!guest->gone)
		virtual_agent_event(guest->vm, true);
}

static void port_free(gpointer data)
{
	struct port *port = data;

	g_byte_array_unref(port->waiting);
	g_free(port->name);
	g_free(port);
}

struct guest *virtual_guest_new(struct virtual_vm *vm)
{
	struct guest *guest = g_new0(struct guest, 1);
	struct virtual_libvirt *libvirt = vm->host->libvirt;
	const guint boot_ms = libvirt->times.boot_ms;

	guest->vm = vm;
	guest->next_pid = 100;
	guest->processes = g_ptr_array_new_with_free_func(process_free);
	guest->ports = g_ptr_array_new_with_free_func(port_free);
	after(guest, boot_ms + (guint)random_stream_below(&libvirt->random, boot_ms / 2 + 1),
	      booted, NULL);
	return guest;
}

void virtual_guest_free(struct guest *guest)
{
	struct alarm *alarm;

	if (!guest)
		return;
	g_clear_handle_id(&guest->source, g_source_remove);
	while ((alarm = g_queue_pop_head(&guest->alarms))) {
		if (alarm->ring == deliver)
			letter_free(alarm->data);
		g_free(alarm);
	}
	g_ptr_array_unref(guest->processes);
	g_ptr_array_unref(guest->ports);
	g_free(guest);
}

/* The clocks of both hosts may differ. */
void virtual_guest_move(struct guest *guest, struct virtual_vm *vm)
{
	const bool ran = guest->runs;

	virtual_guest_run(guest, false);
	guest->vm->guest = NULL;
	guest->vm = vm;
	vm->guest = guest;
	vm->cpu_base_ns = guest->cpu_ns;
	virtual_guest_run(guest, ran);
	for (guint i = 0; i < guest->ports->len; i++)
		flush(guest, guest->ports->pdata[i]);
}
