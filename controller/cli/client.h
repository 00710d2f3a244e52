/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/http_client.h"

/*
 * What the subcommands that talk to a controller share: where it is, asking it, and telling a person
 * why it did not work. Begin with {.name = argv[0]}.
 */
struct client {
	const char *name; /* of the command, "virtbed queue" */
	char *uri, *dir;  /* --uri, --run */
	gboolean json;	  /* --json */
	bool several;	  /* tasks were named by more than the number of one */
	char *address;
	struct http_client *http;
	double timeout_s; /* how long it waits for an answer */
	bool lost;  /* no answer came, or none of a controller: it is of no use to ask for more */
	int status; /* exit status of the last thing that failed: 1, or 2 where the input was bad */
};
typedef struct client client_t; /* for g_auto() */

/* Frees what it holds. */
void client_clear(struct client *client);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(client_t, client_clear)

/* Adds --uri, --run and --json to the command's options; `entries` (may be NULL) come before. */
void client_add_options(struct client *client, GOptionContext *context,
			const GOptionEntry *entries);

/* Finds the controller (run_address_find()). Returns false with `status` set, and why was printed. */
bool client_open(struct client *client);

/*
 * Asks the controller: METHOD path, with a body (borrowed; NULL: none) for POST, of which {} is
 * made. Waits; other sources of the main loop run meanwhile. Returns the answer, which is one that a controller gives
 * to that (run_api.h), a new reference, or NULL with `error`; *ret_status is that of HTTP, 0 where there was no answer.
 */
json_t *client_ask(struct client *client, const char *method, const char *path, json_t *body,
		   int *ret_status, GError **error);

/* The same for what cannot go on without: on failure sets `status` and prints why. */
json_t *client_get(struct client *client, const char *path);
json_t *client_post(struct client *client, const char *path, json_t *body);

/*
 * Prints why client_ask() failed, as client_get() does, and sets `lost`. Returns the exit status: COMMAND_BAD where
 * the controller does not know what was named, or cannot make sense of it (400, 404).
 */
int client_fail(struct client *client, int http_status, const GError *error);

/*
 * The words of a controller that refused (HTTP_ERROR_STATUS), without its address and the status; borrowed from
 * `error`.
 */
const char *client_reason(const struct client *client, int http_status, const GError *error);

/*
 * How long a controller that gives no answer is asked again by those that go on asking: `times` the time for an answer.
 */
double client_patience_s(const struct client *client, double times);

/* Lets `ms` milliseconds pass in the main loop. */
void client_pause(guint ms);

/* Prints a document, indented. */
void client_print_json(const json_t *document);

/*
 * With --json prints the tasks that a command for some was answered: of one that was named by its number what it is, or
 * nothing where it was refused; of several, and of a list or a range, however few, {"tasks": [...]} with those that
 * were not.
 */
void client_print_tasks(const struct client *client, const json_t *answers);

/* How a command's help says which tasks can be named (client_task_numbers()). */
#define CLIENT_TASKS_HELP "TASK is a number, or several: 3,5-7."

/*
 * Numbers of tasks from words: "7", "3-5", "3,5-7". Returns a GArray of guint64 in their order, each once, which
 * the caller unrefs, or NULL after it printed why; none at all is an error too.
 */
GArray *client_task_numbers(struct client *client, char *const *words);

/*
 * For a command about one task: reads its number from `words`, which must name one and no more, and
 * finds the controller. Returns false with `status` set, and why was printed.
 */
bool client_open_for_task(struct client *client, char *const *words, guint64 *ret_number);
