/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/task_wait.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "controller/cli/command.h"
#include "controller/cli/fields.h"
#include "controller/cli/task_list.h"

#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 1000

/*
 * A controller that does not answer is given up after so many timeouts for an answer, ten minutes
 * by default: a restart takes seconds.
 */
#define PATIENCE_TIMES 20

struct counts {
	guint ended, running;
};

static struct counts count_states(const json_t *tasks)
{
	struct counts counts = {0};
	const json_t *task;
	size_t i;

	json_array_foreach (tasks, i, task) {
		if (field_state_ended(field_text(task, "state")))
			counts.ended++;
		else if (g_strcmp0(field_text(task, "state"), "running") == 0)
			counts.running++;
	}
	return counts;
}

/* Overwrites the progress line, on a terminal only. */
static void show_progress(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void show_progress(const char *format, ...)
{
	va_list arguments;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fflush(stderr);
}

/* The state of waiting: the last answer, and since when there is none. */
struct waiting {
	struct client *client;
	const GArray *numbers;
	json_t *document;
	int64_t answered_ns;
	bool reported; /* the lack of an answer was reported */
};

/*
 * Sends one request; false: the wait is over, with client->status. A short absence of the
 * controller is not an end.
 */
static bool ask_once(struct waiting *waiting)
{
	g_autoptr(GError) error = NULL;
	int status;
	json_t *document =
		task_list_ask(waiting->client, NULL, NULL, waiting->numbers, &status, &error);

	if (document) {
		json_decref(waiting->document);
		waiting->document = document;
		waiting->answered_ns = clock_now_ns();
		waiting->reported = false;
		return true;
	}
	if (!client_asks_again(waiting->client, status, waiting->answered_ns, PATIENCE_TIMES)) {
		show_progress("%s", "");
		client_fail(waiting->client, status, error);
		return false;
	}
	if (!waiting->reported) {
		show_progress("%s", "");
		fprintf(stderr,
			"%s: no answer from the controller; the tasks keep running, asking again\n",
			waiting->client->name);
	}
	waiting->reported = true;
	return true;
}

json_t *task_wait(struct client *client, const GArray *numbers)
{
	struct waiting waiting = {.client = client,
				  .numbers = numbers,
				  .answered_ns = clock_now_ns()};
	guint pause_ms = FIRST_PAUSE_MS;

	while (ask_once(&waiting)) {
		struct counts counts = count_states(json_object_get(waiting.document, "tasks"));

		if (counts.ended == numbers->len) {
			show_progress("%s", "");
			return waiting.document;
		}
		show_progress("%u of %u ended, %u running, %u waiting", counts.ended, numbers->len,
			      counts.running, numbers->len - counts.ended - counts.running);
		client_pause(pause_ms);
		pause_ms = MIN(pause_ms * 2, LONGEST_PAUSE_MS);
	}
	json_decref(waiting.document);
	return NULL;
}
