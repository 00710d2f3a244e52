/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the first rank has printed so far, read from its guest while it runs and only when somebody
 * wants to know: virtbed-rank keeps it in a file, which the agent reads piece by piece. So nothing
 * is lost to a port that was cut off, and what nobody reads costs nothing.
 */
#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define PRINTED_FILE "/run/virtbed-rank.0.out"
#define READ_BYTES (256 << 10) /* in base64 far below what libvirt hands on at once, 4 MiB */
#define LOOK_NS INT64_C(300000000)
/* virtbed-rank keeps no more (vm-images/guest/relay.h); a guest is not to be trusted. */
#define PRINTED_MAX ((1 << 20) + 4096)

/* Whether the guest can be asked now. On other nodes a script may go on for long. */
static bool may_ask(const struct job *job)
{
	const struct rank *rank = &job->ranks[0];
	const bool exited = rank->exited && !job->task->script_summary;

	return job->events && job->phase == PHASE_RUNNING && job_is_at_rest(job) &&
	       !rank->place->lost && !exited && !rank->collected;
}

static void ask(struct job *job, const char *request, host_done_f done)
{
	job_call_begins(job);
	vm_request(job->ranks[0].place->vm, request, done, job);
}

/* Whoever waits is told, then the job goes on; it may be gone after that. */
static void look_over(struct job *job, const GError *error)
{
	job->live.asking = false;
	if (error) {
		log_debug("task '%s': its output was not read: %s", job->task->id, error->message);
		job->live.file = 0;
	} else {
		job->live.looks++;
	}
	job->events->printed(job, job->data);
	job_advance(job);
}

/* A file that was opened anew is read from its beginning: what is known of it is left out. */
static void take_piece(struct job *job, const struct agent_piece *piece)
{
	struct job_live *live = &job->live;
	size_t known = live->text->len - MIN(live->position, live->text->len);
	size_t fresh = piece->length - MIN(known, piece->length);
	size_t room = PRINTED_MAX - MIN(live->text->len, (size_t)PRINTED_MAX);

	live->position += piece->length;
	g_string_append_len(live->text, piece->bytes + piece->length - fresh,
			    (gssize)MIN(fresh, room));
}

static void read_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct agent_piece piece;
	struct job *job = data;

	if (!job_call_ended(job))
		return;
	if (!error && agent_parse_piece(reply, &piece, &wrong)) {
		take_piece(job, &piece);
		g_free(piece.bytes);
	}
	look_over(job, error ?: wrong);
}

static void read_on(struct job *job)
{
	g_autofree char *request = agent_file_read_request(job->live.file, READ_BYTES);

	ask(job, request, read_answered);
}

static void open_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct job *job = data;

	if (!job_call_ended(job))
		return;
	if (error || !agent_parse_file(reply, &job->live.file, &wrong)) {
		look_over(job, error ?: wrong);
		return;
	}
	job->live.position = 0;
	if (may_ask(job))
		read_on(job);
	else
		look_over(job, NULL);
}

void job_look(struct job *job)
{
	struct job_live *live = &job->live;
	g_autofree char *request = NULL;
	int64_t now_ns = clock_now_ns();

	if (live->asking || now_ns - live->looked_ns < LOOK_NS || !may_ask(job))
		return;
	if (!live->text)
		live->text = g_string_new(NULL);
	live->asking = true;
	live->looked_ns = now_ns;
	if (live->file) {
		read_on(job);
		return;
	}
	request = agent_file_open_request(PRINTED_FILE);
	ask(job, request, open_answered);
}

static void close_answered(gpointer result, const GError *error, gpointer data)
{
	g_free(result);
	job_call_ended(data);
}

void job_live_close(struct job *job)
{
	g_autofree char *request = NULL;

	if (!job->live.file || job->ranks[0].place->lost)
		return;
	request = agent_file_close_request(job->live.file);
	job->live.file = 0;
	ask(job, request, close_answered);
}

const char *job_printed(const struct job *job, size_t *ret_length, uint32_t *ret_looks)
{
	*ret_length = job->live.text ? job->live.text->len : 0;
	*ret_looks = job->live.looks;
	return job->live.text ? job->live.text->str : "";
}
