/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A user's program, mostly a script, that a guest executes instead of a benchmark, with its input
 * files and the names of its result files. It is submitted, stored and sent as
 *
 *  {"program": "job.sh", "arguments": ["7"], "results": ["out.txt"],
 *   "files": [{"name": "job.sh", "mode": 493, "data": "<base64>", "sha256": "..."}]}
 *
 * and as a stream of bytes for the guest (vm-images/guest/bundle.h). Pure.
 */
struct task_script {
	char *program;    /* name of one of the files */
	char **arguments; /* NULL-terminated */
	char **results;   /* names of files or directories, NULL-terminated */
	GPtrArray *files; /* struct task_file elements, owned */
};
typedef struct task_script task_script_t;

struct task_file {
	char *name; /* file_name_ok() */
	int mode;   /* permissions */
	GBytes *bytes;
};

#define TASK_SCRIPT_ERROR (task_script_error_quark())
GQuark task_script_error_quark(void);
enum task_script_error { TASK_SCRIPT_ERROR_INPUT = 1 };

enum {
	/* Sum over all files: in base64 they share a request of 1 MiB (common/http_server.h). */
	TASK_SCRIPT_BYTES_MAX = 704 << 10,
	TASK_SCRIPT_FILES_MAX = 256,
	/* as in vm-images/guest/virtbed-rank.c; so is the next one */
	TASK_SCRIPT_RESULTS_MAX = 16,
	TASK_SCRIPT_ARGUMENTS_MAX = 64,
	TASK_SCRIPT_ARGUMENT_MAX = 4096, /* bytes */
	/*
	 * Sum over the results of all guests: in base64 a third of what common/http_client.c
	 * accepts.
	 */
	TASK_SCRIPT_JOINED_MAX = 16 << 20,
};

/*
 * Reads a script. Refuses an unknown key, a file name outside the task's directory, a wrong
 * checksum, and anything above the maximum sizes. NULL with `error` (TASK_SCRIPT_ERROR).
 */
struct task_script *task_script_parse(const json_t *object, GError **error);
/* NULL is allowed. */
void task_script_free(struct task_script *script);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_script_t, task_script_free)

/* The script as a document with data and checksums; a new reference. */
json_t *task_script_to_json(const struct task_script *script);

/* The document without data, as text: equal scripts give equal texts. The caller frees. */
char *task_script_summary(const struct task_script *script);

/* The files as a stream for the guest; the caller owns it. */
GBytes *task_script_bundle(const struct task_script *script);

/*
 * Joins the result streams of `count` guests of a task, in the order of its nodes; NULL if there
 * are no results. A single stream is returned as it is (a new reference); of several, the files of
 * the second guest are below node-1/, and so on. TASK_SCRIPT_JOINED_MAX bounds their sum: files
 * above it are skipped, in the order of nodes.
 */
GBytes *task_script_join(GBytes *const *streams, uint32_t count);

/*
 * The result files of a guest, from an untrusted stream, as {"files": [{"name", "mode", "bytes",
 * "sha256", "data"}], "skipped": ["NAME: why"]}; a new reference. Malformed files are left out and
 * listed in "skipped".
 */
json_t *task_script_results(GBytes *stream);
