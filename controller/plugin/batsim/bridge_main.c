/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-policy-batsim: a process that decides as a scheduler of Batsim says, by the protocol of
 * docs/reference/policy-protocol.md.
 *
 *     virtbed-policy-batsim batsim [cluster=NAME] [init=TEXT] COMMAND [ARGUMENT...]
 *     virtbed-policy-batsim batsim-edc [cluster=NAME] FILE [INIT]
 *
 * Standard output is the conversation with virtbed: what schedulers print goes to standard error.
 */
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/plugin/batsim/batsim_bridge.h"
#include "controller/plugin/so/conversation.h"

/* Lines go to what was standard output, which no scheduler inherits. */
static FILE *take_output(void)
{
	const int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *output = fd < 0 ? NULL : fdopen(fd, "w");

	if (!output || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		perror("virtbed-policy-batsim: cannot keep its standard output");
		exit(EXIT_FAILURE);
	}
	return output;
}

/* What the scheduler is. */
struct given {
	char **words;
	const char *init; /* of a process of Batsim 5; else NULL */
};

static struct batsim_peer *start_process(void *data, GError **error)
{
	const struct given *given = data;

	return batsim_peer_process((const char *const *)given->words, given->init, error);
}

static struct batsim_peer *load_edc(void *data, GError **error)
{
	const struct given *given = data;

	return batsim_peer_edc(given->words[0], given->words[1] ? given->words[1] : "", error);
}

/* The value of an option in front of the words, which then begin behind it; NULL: it is not there. */
static const char *take_option(char ***words, const char *option)
{
	if (!**words || !g_str_has_prefix(**words, option))
		return NULL;
	return *(*words)++ + strlen(option);
}

int main(int argc, char **argv)
{
	const bool edc = argc > 1 && strcmp(argv[1], "batsim-edc") == 0;
	struct given given = {.words = argv + MIN(argc, 2)};
	const char *cluster = take_option(&given.words, "cluster=");
	struct batsim_bridge *bridge;
	struct conversation *conversation;
	FILE *output;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	given.init = edc ? NULL : take_option(&given.words, "init=");
	if (argc < 3 || !given.words[0] || (!edc && strcmp(argv[1], "batsim") != 0) ||
	    (edc && given.words[1] && given.words[2])) {
		fputs("usage: virtbed-policy-batsim batsim [cluster=NAME] [init=TEXT] COMMAND "
		      "[ARGUMENT...]\n"
		      "       virtbed-policy-batsim batsim-edc [cluster=NAME] FILE [INIT]\n"
		      "virtbed starts it: docs/reference/batsim.md\n",
		      stderr);
		return 2;
	}
	output = take_output();
	bridge = batsim_bridge_new(cluster, edc ? load_edc : start_process, &given);
	conversation = conversation_new_outside(&(struct conversation_outside){
		.name = given.words[0],
		.decides = batsim_bridge_outside(bridge),
		.hello = batsim_bridge_refuses,
	});
	while ((length = getline(&line, &room, stdin)) >= 0) {
		g_autofree char *answer = conversation_answer(conversation, line, (size_t)length);

		if (!answer || fputs(answer, output) < 0 || fflush(output) != 0)
			break;
	}
	free(line);
	conversation_free(conversation);
	batsim_bridge_free(bridge);
	fclose(output);
	return EXIT_SUCCESS;
}
