/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-policy-so: a process in which a policy decides that is a shared object, or one of the
 * tree, by the protocol of docs/reference/policy-protocol.md.
 *
 *     virtbed-policy-so so:FILE | POLICY
 *
 * Standard output is the conversation: what the policy itself prints goes to standard error. With
 * VIRTBED_POLICY_FILL=BYTE the stack below the policy is filled with that byte before each event,
 * so that a variable that it does not initialise has another value in another process (`virtbed
 * policy check`).
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/read_number.h"
#include "controller/plugin/so/conversation.h"
#include "controller/plugin/so/plugin_so.h"

/* Lines go to what was standard output. */
static FILE *take_output(void)
{
	const int fd = dup(STDOUT_FILENO);
	FILE *output = fd < 0 ? NULL : fdopen(fd, "w");

	if (!output || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		perror("virtbed-policy-so: cannot keep its standard output");
		exit(EXIT_FAILURE);
	}
	return output;
}

static const struct policy *find_policy(const char *name, struct plugin_so **ret_so,
					struct policy *ret_policy)
{
	g_autoptr(GError) error = NULL;
	char message[512];

	if (g_str_has_prefix(name, "so:")) {
		*ret_so = plugin_so_open(name + strlen("so:"), &error);
		if (*ret_so)
			return plugin_so_policy(*ret_so);
		fprintf(stderr, "%s\n", error->message);
	} else if (policy_parse(name, ret_policy, message, sizeof(message)) == 0) {
		return ret_policy;
	} else {
		fprintf(stderr, "%s\n", message);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t fill = 0;
	const bool fills =
		read_number_unsigned(g_getenv("VIRTBED_POLICY_FILL"), 0, UINT8_MAX, &fill);
	g_autoptr(plugin_so_t) so = NULL;
	struct policy named;
	const struct policy *policy;
	struct conversation *conversation;
	FILE *output;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (argc != 2) {
		fputs("usage: virtbed-policy-so so:FILE|POLICY\n"
		      "virtbed starts it: docs/reference/policy-protocol.md\n",
		      stderr);
		return 2;
	}
	output = take_output();
	policy = find_policy(argv[1], &so, &named);
	if (!policy)
		return EXIT_FAILURE;
	conversation = conversation_new(policy);
	if (fills)
		conversation_fill_stack(conversation, (uint8_t)fill);
	while ((length = getline(&line, &room, stdin)) >= 0) {
		g_autofree char *answer = NULL;
		answer = conversation_answer(conversation, line, (size_t)length);
		if (!answer || fputs(answer, output) < 0 || fflush(output) != 0)
			break;
	}
	free(line);
	conversation_free(conversation);
	fclose(output);
	return EXIT_SUCCESS;
}
