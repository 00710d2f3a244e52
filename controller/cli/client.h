/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/http_client.h"
#include "controller/cli/command.h"
#include "controller/report/table.h"

/*
 * The client of the subcommands that talk to a controller: it finds the controller and the user's
 * token, sends requests, and prints why one failed. Begin with {.name = argv[0]}.
 */
struct client {
	const char *name;      /* of the command, "virtbed queue" */
	const char *uri, *dir; /* --uri, --run */
	bool json;             /* --json */
	bool several; /* the command line names tasks by a list, a range or several numbers */
	char *address;
	struct http_client *http;
	double timeout_s; /* time to wait for an answer */
	bool lost;  /* no answer came, or none of a controller: further requests are pointless */
	int status; /* exit status of the last failure: 1, or 2 for bad input */
};
typedef struct client client_t; /* for g_auto() */

/* Frees the contents. */
void client_clear(struct client *client);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(client_t, client_clear)

/*
 * Prints why the input is refused, as command_fail(), and sets `status` to COMMAND_BAD. False, so
 * that a function which refuses is one statement.
 */
#define client_refuse(client_, ...)                                                                \
	((client_)->status = command_fail(COMMAND_BAD, (client_)->name, __VA_ARGS__), false)

/*
 * As command_parse(), with --uri, --run and --json after `options` (NULL: these alone).
 */
bool client_parse(struct client *client, int *argc, char ***argv, const char *usage,
		  const char *summary, const struct command_option *options);

/*
 * Finds the controller for a command. It is the first of: `uri`, if given; that of the run or
 * service in directory `dir`, if given; $VIRTBED_URI; that of this user's latest run under runs/,
 * if it runs; that of a service, at the address recorded in run_paths_service_state(), then at
 * run_paths_service_addresses(). Except for `uri` and $VIRTBED_URI these are Unix sockets, to which
 * no token is sent. Returns the address, which the caller frees, or NULL with `error`
 * (RUN_PLAN_ERROR).
 */
char *client_find_address(const char *uri, const char *dir, GError **error);

/*
 * Finds the controller (client_find_address()). On failure prints why, sets `status` and returns
 * false.
 */
bool client_open(struct client *client);

/*
 * Sends a request to the controller and waits for the answer, while other sources of the main loop
 * run. `body` is borrowed and used for POST (NULL: {}). Returns the answer, a new reference, which
 * was checked to be a controller's (run_api.h), or NULL with `error`; *ret_status is the HTTP
 * status, 0 without an answer.
 */
json_t *client_ask(struct client *client, const char *method, const char *path, json_t *body,
		   int *ret_status, GError **error);

/* As client_ask(), for commands that end on failure: prints why and sets `status`. */
json_t *client_get(struct client *client, const char *path);
json_t *client_post(struct client *client, const char *path, json_t *body);

/*
 * Prints why client_ask() failed, as client_get() does, and sets `lost`. Returns the exit status:
 * COMMAND_BAD where the controller does not know the thing or rejects the input (400, 404).
 */
int client_fail(struct client *client, int http_status, const GError *error);

/*
 * The text of a controller's refusal (HTTP_ERROR_STATUS) without its address and the status;
 * borrowed from `error`.
 */
const char *client_reason(const struct client *client, int http_status, const GError *error);

/*
 * Whether a command that retries asks again after a failed request: the controller gave no answer
 * or is starting (503), and the time since `since_ns` (clock_now_ns()) is less than `times` the
 * timeout for an answer.
 */
bool client_asks_again(const struct client *client, int http_status, int64_t since_ns,
		       double times);

/*
 * Prints that a task, as the controller describes it, did not complete, with its state and reason;
 * `more` is added (NULL: nothing). Returns COMMAND_FAILED.
 */
int client_fail_task(const struct client *client, const json_t *task, const char *more);

/* Runs the main loop for `ms` milliseconds. */
void client_pause(guint ms);

/*
 * Prints a document with --json, else the table that `table_of` makes of it. Returns the exit
 * status; without a document, after client_get() or client_post(), that of the failure.
 */
int client_print(const struct client *client, const json_t *document,
		 struct table *(*table_of)(const json_t *document));

/* With --json prints the answers of a command for several things: {key: [...]}. */
void client_print_list(const struct client *client, const char *key, const json_t *answers);

/*
 * With --json prints the answers of a command for several tasks. For a single task named by its
 * number: the task object, or nothing if the request was refused. For several numbers, a list or a
 * range: {"tasks": [...]} with the tasks whose request was accepted.
 */
void client_print_tasks(const struct client *client, const json_t *answers);

/* Reads "7" or "3-5" with numbers up to `max`; false: the word is neither. */
bool client_read_range(const char *word, guint64 max, guint64 *ret_first, guint64 *ret_last);

/* For the help of commands that take task numbers (client_task_numbers()). */
#define CLIENT_TASKS_HELP "TASK is a number, or several: 3,5-7."

/*
 * Reads task numbers from words: "7", "3-5", "3,5-7". Returns a GArray of guint64 in their order
 * without duplicates, which the caller unrefs, or NULL after the error was printed. No number at
 * all is an error too.
 */
GArray *client_task_numbers(struct client *client, char *const *words);

/*
 * For a command about one task: reads its number from `words`, which must name exactly one task,
 * and finds the controller. On failure prints why, sets `status` and returns false.
 */
bool client_open_for_task(struct client *client, char *const *words, guint64 *ret_number);
