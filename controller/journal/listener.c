/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/listener.h"

#include <glib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "controller/sched/decision_sum.h"

/* Answers. */

void answers_init(struct answers *answers)
{
	*answers = (struct answers){.bytes = g_byte_array_new()};
}

void answers_finish(struct answers *answers)
{
	g_byte_array_unref(answers->bytes);
}

void answers_restart(struct answers *answers)
{
	memset(answers->last, 0, sizeof(answers->last));
}

bool answers_begin(struct answers *answers, double time_s, const char *text)
{
	gsize size = 0;
	g_autofree guchar *bytes = text ? g_base64_decode(text, &size) : NULL;

	g_byte_array_set_size(answers->bytes, 0);
	answers->expected = 0;
	answers->at = 0;
	if (!isnan(time_s))
		answers->last[ANSWER_CLOCK] = time_s;
	if (size > G_MAXINT)
		return false;
	if (size > 0)
		g_byte_array_append(answers->bytes, bytes, (guint)size);
	return !text || size > 0;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Added to the number of bytes of a difference in nanoseconds; a double has at most 8 bytes. */
#define NANOSECONDS 8

/*
 * Whether a value is a whole number of nanoseconds as clocks give it: divided by 10^9, as a double
 * that was not rounded.
 */
static bool is_nanoseconds(double value, int64_t *ret_ns)
{
	const double ns = round(value * 1e9);

	if (!(fabs(ns) < 0x1p53))
		return false;
	*ret_ns = (int64_t)ns;
	return bits_of((double)*ret_ns / 1e9) == bits_of(value);
}

/*
 * Writes a difference: a byte with its sign, the number of its bytes and that of the zero bytes
 * below them, which are left out, then the bytes. Round values have many zero bytes, and readings
 * that follow one another closely few bytes at all. A difference of 0 is one byte of 0.
 */
static guint write_difference(uint64_t difference, guint8 text[static 9])
{
	const bool negative = difference >> 63;
	uint64_t left = negative ? -difference : difference;
	guint8 zeros = 0;
	guint8 count = 0;

	for (; left > 0 && (left & 0xff) == 0; left >>= 8)
		zeros++;
	for (; left > 0; left >>= 8)
		text[++count] = (guint8)(left & 0xff);
	text[0] = (guint8)((negative ? 0x80 : 0) | count << 3 | zeros);
	return count + 1u;
}

/* Appends the difference of two values: in nanoseconds if that takes fewer bytes. */
static void append_difference(GByteArray *bytes, double last, double value)
{
	guint8 text[9];
	guint8 other[9];
	guint size = write_difference(bits_of(value) - bits_of(last), text);
	guint other_size;
	int64_t from, to;

	if (is_nanoseconds(last, &from) && is_nanoseconds(value, &to) && from != to) {
		other_size = write_difference((uint64_t)(to - from), other);
		if (other_size < size) {
			size = other_size;
			memcpy(text, other, size);
			text[0] += NANOSECONDS << 3;
		}
	}
	g_byte_array_append(bytes, text, size);
}

void answers_add(struct answers *answers, enum answer_kind kind, double value)
{
	if (bits_of(value) == bits_of(answers->last[kind])) {
		answers->expected++;
		return;
	}
	for (; answers->expected > 0; answers->expected--)
		append_difference(answers->bytes, value, value);
	append_difference(answers->bytes, answers->last[kind], value);
	answers->last[kind] = value;
}

char *answers_text(const struct answers *answers)
{
	return answers->bytes->len > 0 ? g_base64_encode(answers->bytes->data, answers->bytes->len)
				       : NULL;
}

/* The next difference; 0 at the end, or where it is cut off. */
static uint64_t next_difference(struct answers *answers, bool *ret_nanoseconds)
{
	const guint8 *bytes = answers->bytes->data;
	const guint left = answers->bytes->len - answers->at;
	const guint8 head = left > 0 ? bytes[answers->at] : 0;
	const guint whole_count = head >> 3 & 0xf;
	const guint count = whole_count > NANOSECONDS ? whole_count - NANOSECONDS : whole_count;
	const guint zeros = head & 7;
	uint64_t difference = 0;

	*ret_nanoseconds = whole_count > NANOSECONDS;
	if (left == 0)
		return 0;
	if (count + zeros > 8 || count >= left) {
		answers->at = answers->bytes->len;
		return 0;
	}
	for (guint i = 0; i < count; i++)
		difference |= (uint64_t)bytes[answers->at + 1 + i] << (8 * (zeros + i));
	answers->at += 1 + count;
	return head & 0x80 ? -difference : difference;
}

double answers_next(struct answers *answers, enum answer_kind kind)
{
	bool nanoseconds;
	const uint64_t difference = next_difference(answers, &nanoseconds);
	double *last = &answers->last[kind];
	int64_t from;

	if (nanoseconds)
		*last = is_nanoseconds(*last, &from)
				? (double)(int64_t)((uint64_t)from + difference) / 1e9
				: (double)NAN;
	else if (difference != 0)
		*last = of_bits(bits_of(*last) + difference);
	return *last;
}

bool answers_left(const struct answers *answers)
{
	return answers->at < answers->bytes->len;
}

/* Requests. */

/* Bits of the sum below the bits of the kinds. */
#define SUM_BITS 39

const char *const requests_names[] = {
	[REQUESTS_START] = "start",     [REQUESTS_KILL] = "kill",
	[REQUESTS_SUSPEND] = "suspend", [REQUESTS_RESUME] = "resume",
	[REQUESTS_MIGRATE] = "migrate", [REQUESTS_SHARE] = "share",
	[REQUESTS_ENQUEUE] = "enqueue", [REQUESTS_LIMIT] = "limit",
};
G_STATIC_ASSERT(G_N_ELEMENTS(requests_names) == REQUESTS_KINDS && REQUESTS_KINDS <= 8);

void requests_begin(struct requests *requests)
{
	*requests = (struct requests){0};
}

static void add(struct requests *requests, uint64_t word)
{
	requests->sum = sched_sums_join(requests->sum, word);
}

void requests_add(struct requests *requests, const struct request *request)
{
	const struct sched_allocation *placed = request->placed;
	const uint32_t task = placed ? placed->task->id : request->task;
	const uint32_t *nodes = placed ? placed->nodes : request->nodes;
	const uint32_t nodes_count = placed ? placed->nodes_count : request->nodes_count;

	if (requests->count < G_N_ELEMENTS(requests->first_kinds)) {
		requests->first_kinds[requests->count] = (guint8)request->kind;
		requests->first_tasks[requests->count] =
			request->kind == REQUESTS_LIMIT ? UINT32_MAX : task;
	}
	requests->count++;
	requests->kinds |= 1u << request->kind;
	add(requests, (uint64_t)request->kind << 32 | task);
	add(requests, (uint64_t)request->attempt << 32 | request->n);
	add(requests, placed ? (uint64_t)placed->task->row << 32 | placed->cluster : 0);
	add(requests, (uint64_t)(placed ? placed->pstate : 0) << 32 | nodes_count);
	for (uint32_t i = 0; i < nodes_count; i++)
		add(requests, nodes[i]);
	add(requests, bits_of(request->start_before_s));
	add(requests, bits_of(request->value));
}

int64_t requests_sum(const struct requests *requests)
{
	const uint64_t mask = (UINT64_C(1) << SUM_BITS) - 1;

	return requests->kinds == 0
		       ? -1
		       : (int64_t)((uint64_t)requests->kinds << SUM_BITS | (requests->sum & mask));
}

guint requests_kinds_of(int64_t sum)
{
	return sum < 0 ? 0 : (guint)(sum >> SUM_BITS) & ((1u << REQUESTS_KINDS) - 1);
}

char *requests_text(const struct requests *requests)
{
	const guint shown = MIN(requests->count, G_N_ELEMENTS(requests->first_kinds));
	GString *text = g_string_new(shown == 0 ? "none" : NULL);

	for (guint i = 0; i < shown; i++) {
		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
				       requests_names[requests->first_kinds[i]]);
		if (requests->first_tasks[i] != UINT32_MAX)
			g_string_append_printf(text, " of task %u", requests->first_tasks[i]);
	}
	if (requests->count > shown)
		g_string_append_printf(text, " and %u more", requests->count - shown);
	return g_string_free(text, FALSE);
}

/* The backend that notes both. */

static struct listener *of(struct backend *backend)
{
	return (struct listener *)backend;
}

static double note(struct listener *listener, enum answer_kind kind, double value)
{
	if (listener->noting)
		answers_add(&listener->answers, kind, value);
	return value;
}

static double now_s(struct backend *backend)
{
	return note(of(backend), ANSWER_CLOCK, backend_now_s(of(backend)->other));
}

static double energy_j(struct backend *backend)
{
	return note(of(backend), ANSWER_ENERGY, backend_energy_j(of(backend)->other));
}

static double energy_at_j(struct backend *backend, double time_s)
{
	struct backend *other = of(backend)->other;

	return note(of(backend), ANSWER_ENERGY_AT, other->ops->energy_at_j(other, time_s));
}

static struct backend_watermark watermark(struct backend *backend)
{
	struct backend *other = of(backend)->other;
	const struct backend_watermark mark = other->ops->watermark(other);

	note(of(backend), ANSWER_MARK_FROM, mark.from_s);
	note(of(backend), ANSWER_MARK_UNTIL, mark.until_s);
	note(of(backend), ANSWER_MARK_ALL, mark.all_s);
	return mark;
}

/* Notes a request. */
static struct backend *request(struct backend *backend, const struct request *request)
{
	if (of(backend)->noting)
		requests_add(&of(backend)->requests, request);
	return of(backend)->other;
}

static void start(struct backend *backend, const struct sched_allocation *placed, uint32_t attempt)
{
	const struct request one = {REQUESTS_START, .attempt = attempt, .placed = placed};

	backend_start(request(backend, &one), placed, attempt);
}

static void kill_task(struct backend *backend, uint32_t task, uint32_t attempt)
{
	backend_kill(request(backend, &(struct request){REQUESTS_KILL, task, attempt}), task,
		     attempt);
}

static void suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	backend_suspend(request(backend, &(struct request){REQUESTS_SUSPEND, task, attempt, n}),
			task, attempt, n);
}

static void resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		   const uint32_t *nodes, uint32_t nodes_count)
{
	const struct request one = {REQUESTS_RESUME, task, attempt, n, nodes, nodes_count};

	backend_resume(request(backend, &one), task, attempt, n, nodes, nodes_count);
}

static void share(struct backend *backend, uint32_t task, uint32_t attempt, double yield)
{
	const struct request one = {REQUESTS_SHARE, task, attempt, .value = yield};

	backend_share(request(backend, &one), task, attempt, yield);
}

static void enqueue(struct backend *backend, const struct sched_allocation *placed,
		    uint32_t attempt, double start_before_s)
{
	const struct request one = {REQUESTS_ENQUEUE, .attempt = attempt, .placed = placed,
				    .start_before_s = start_before_s};

	backend_enqueue(request(backend, &one), placed, attempt, start_before_s);
}

static void migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		    const uint32_t *nodes, uint32_t nodes_count)
{
	const struct request one = {REQUESTS_MIGRATE, task, attempt, n, nodes, nodes_count};

	backend_migrate(request(backend, &one), task, attempt, n, nodes, nodes_count);
}

static void set_limit(struct backend *backend, double limit_j)
{
	backend_set_limit(request(backend, &(struct request){REQUESTS_LIMIT, .value = limit_j}),
			  limit_j);
}

/* It belongs to the recorder, and the other one to its caller. */
static void destroy(struct backend *backend)
{
	g_assert_not_reached();
}

void listener_set(struct listener *listener, struct backend *other)
{
	const struct backend_ops *ops = other->ops;

	listener->other = other;
	listener->ops = (struct backend_ops){
		.name = ops->name,
		.now_s = now_s,
		.start = start,
		.kill = kill_task,
		.suspend = suspend,
		.resume = resume,
		.share = ops->share ? share : NULL,
		.enqueue = ops->enqueue ? enqueue : NULL,
		.migrate = ops->migrate ? migrate : NULL,
		.energy_j = energy_j,
		.energy_at_j = ops->energy_at_j ? energy_at_j : NULL,
		.watermark = ops->watermark ? watermark : NULL,
		.set_limit = set_limit,
		.destroy = destroy,
	};
	listener->backend.ops = &listener->ops;
	answers_restart(&listener->answers);
}
