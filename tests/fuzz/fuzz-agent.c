/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a guest agent answers, and what a program in the guest printed or left. */
#include <math.h>
#include <string.h>

#include "common/file_names.h"
#include "common/json.h"
#include "common/task_script.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/launch/npb_output.h"
#include "tests/fuzz/fuzz.h"

static void check_output(const char *text)
{
	struct npb_output output;

	npb_output_parse(text, &output);
	fuzz_check(output.successful <= output.blocks);
	fuzz_check(isfinite(output.time_s) && output.time_s >= 0);
}

static void check_status(const char *text)
{
	g_autoptr(GError) error = NULL;
	struct agent_status status = {0};
	const bool good = agent_parse_status(text, &status, &error);

	fuzz_check_error(good, error);
	if (!good)
		return;
	if (status.exited)
		fuzz_check(status.status >= 0 && status.status <= 255);
	if (status.output) {
		fuzz_check(status.output[status.output_length] == '\0');
		check_output(status.output);
	}
	if (status.errors)
		fuzz_check(status.errors[status.errors_length] == '\0');
	agent_status_clear(&status);
}

/* A piece of a file, and the stream of files that a script leaves. */
static void check_files(const char *text, const uint8_t *data, size_t size)
{
	g_autoptr(GError) piece_error = NULL;
	g_autoptr(GError) file_error = NULL;
	g_autoptr(GBytes) stream = g_bytes_new(data, size);
	g_autoptr(json_t) results = task_script_results(stream);
	struct agent_piece piece;
	int64_t file = 0;
	const json_t *entry;
	size_t i;

	fuzz_check_error(agent_parse_file(text, &file, &file_error), file_error);
	fuzz_check(file_error || file > 0);
	if (agent_parse_piece(text, &piece, &piece_error))
		g_free(piece.bytes);
	json_array_foreach (json_object_get(results, "files"), i, entry)
		fuzz_check(file_name_ok(json_string_value(json_object_get(entry, "name"))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	g_autoptr(GError) empty_error = NULL;
	g_autoptr(GError) sync_error = NULL;
	g_autoptr(GError) exec_error = NULL;
	int64_t pid = 0;

	fuzz_check_error(agent_parse_empty(text, &empty_error), empty_error);
	fuzz_check_error(agent_parse_sync(text, 7, &sync_error), sync_error);
	fuzz_check_error(agent_parse_exec(text, &pid, &exec_error), exec_error);
	fuzz_check(exec_error || pid > 0);
	check_status(text);
	check_output(text);
	check_files(text, data, size);
	return 0;
}
