/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_output.h"

#include <string.h>

void job_output_take(struct job_output *output, struct agent_status *status)
{
	job_output_clear(output);
	output->out = g_steal_pointer(&status->output);
	output->out_length = status->output_length;
	output->err = g_steal_pointer(&status->errors);
	output->err_length = status->errors_length;
	output->truncated = status->truncated;
}

void job_output_clear(struct job_output *output)
{
	g_free(output->out);
	g_free(output->err);
	memset(output, 0, sizeof(*output));
}

static void add_section(GString *text, const char *name, const char *what, const char *bytes,
			size_t length)
{
	if (length == 0)
		return;
	g_string_append_printf(text, "---- %s: %s ----\n", name, what);
	g_string_append_len(text, bytes, (gssize)length);
	if (bytes[length - 1] != '\n')
		g_string_append_c(text, '\n');
}

static void add_rank(GString *text, const struct job_output_rank *rank, const char *what,
		     uint32_t index)
{
	const struct job_output *output = rank->output;
	g_autofree char *name = g_strdup_printf("%s %u", what, index);

	if (index == 0)
		g_string_append_len(text, output->out ? output->out : "",
				    (gssize)output->out_length);
	else
		add_section(text, name, "standard output", output->out, output->out_length);
	add_section(text, name, "standard error", output->err, output->err_length);
	if (output->truncated)
		g_string_append_printf(text, "---- %s: output cut by the guest agent ----\n", name);
	if (rank->lost)
		g_string_append_printf(text, "---- %s: output lost ----\n", name);
	if (rank->status != 0)
		g_string_append_printf(text, "---- %s: exit status %d ----\n", name, rank->status);
}

char *job_output_text(const struct job_output_rank *ranks, uint32_t count, const char *what,
		      size_t *ret_length)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < count && text->len <= JOB_OUTPUT_MAX; i++)
		add_rank(text, &ranks[i], what, i);
	if (text->len > JOB_OUTPUT_MAX) {
		g_string_truncate(text, JOB_OUTPUT_MAX);
		g_string_append_printf(text, "\n---- output cut at %d MiB ----\n",
				       JOB_OUTPUT_MAX >> 20);
	}
	*ret_length = text->len;
	return g_string_free(text, FALSE);
}
