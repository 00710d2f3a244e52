/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The output of rank 0 while it runs, read from its guest on request only. virtbed-rank keeps it in
 * a file, which the agent reads piece by piece. Output is therefore not lost with a port that was
 * cut off, and costs nothing if it is not read.
 */
#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define PRINTED_FILE "/run/virtbed-rank.0.out"
/* in base64 far below the most that libvirt passes on at once, 4 MiB */
#define READ_BYTES (256 << 10)
#define LOOK_NS INT64_C(300000000)
/* The most that virtbed-rank keeps (vm-images/guest/relay.h). A guest is not trusted. */
#define PRINTED_MAX ((1 << 20) + 4096)

/*
 * Whether the guest can be asked now. A script may run on other nodes for long after rank 0 has
 * ended.
 */
static bool may_ask(const struct job *job)
{
	const struct rank *rank = &job->ranks[0];
	const bool exited = rank->exited && !job->task->script_summary;

	return job->events && job->phase == PHASE_RUNNING && job_is_at_rest(job) &&
	       !rank->place->lost && !exited && !rank->collected;
}

static void send_request(struct job *job, const char *request, host_done_f done)
{
	job_call_begins(job);
	vm_request(job->ranks[0].place->vm, request, done, job);
}

/* Calls `printed` and continues the job, which may be freed then. */
static void end_look(struct job *job, const GError *error)
{
	job->live.asking = false;
	if (error) {
		log_debug("task '%s': its output was not read: %s", job->task->id, error->message);
		job->live.file = 0;
	} else {
		job->live.looks++;
	}
	job->events->printed(job->data);
	job_advance(job);
}

/*
 * Adds a piece. A file that was opened again is read from its beginning, so the known part is
 * skipped.
 */
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
	end_look(job, error ?: wrong);
}

static void read_on(struct job *job)
{
	g_autofree char *request = agent_file_read_request(job->live.file, READ_BYTES);

	send_request(job, request, read_answered);
}

static void open_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct job *job = data;

	if (!job_call_ended(job))
		return;
	if (error || !agent_parse_file(reply, &job->live.file, &wrong)) {
		end_look(job, error ?: wrong);
		return;
	}
	job->live.position = 0;
	if (may_ask(job))
		read_on(job);
	else
		end_look(job, NULL);
}

void job_look(struct job *job)
{
	struct job_live *live = &job->live;
	g_autofree char *request = NULL;
	int64_t now_ns = platform_now_ns(job->settings.platform);

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
	send_request(job, request, open_answered);
}

const char *job_printed(const struct job *job, size_t *ret_length, uint32_t *ret_looks)
{
	*ret_length = job->live.text ? job->live.text->len : 0;
	*ret_looks = job->live.looks;
	return job->live.text ? job->live.text->str : "";
}
