/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the ranks of a job say. Input: a byte for the number of ranks, then pieces: a byte for the
 * rank, one for the length, and so many bytes.
 */
#include <string.h>

#include "local-sched/launch/pmi_server.h"
#include "tests/fuzz/fuzz.h"

#define RANKS_MAX 4

/* All that is to be sent is text of whole lines. */
static void take_output(struct pmi_server *server, uint32_t ranks)
{
	int64_t done;
	int64_t total;

	for (uint32_t rank = 0; rank < ranks; rank++) {
		size_t length = 0;
		g_autofree char *text = pmi_server_take_output(server, rank, &length);
		int status = -1;

		if (text)
			fuzz_check(length > 0 && text[length - 1] == '\n' &&
				   memchr(text, '\0', length) == NULL);
		if (pmi_server_exited(server, rank, &status))
			fuzz_check(status >= 0 && status <= 255);
		pmi_server_finalized(server, rank);
	}
	pmi_server_is_calm(server);
	if (pmi_server_progress(server, &done, &total))
		fuzz_check(done >= 0 && done <= total && total <= PMI_STEPS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t ranks = size > 0 ? data[0] % RANKS_MAX + 1 : 1;
	g_autoptr(pmi_server_t) server = pmi_server_new(ranks, (ranks + 1) / 2, 2);
	size_t at = 1;
	bool failed = false;

	while (at + 2 < size) {
		const uint32_t rank = data[at] % ranks;
		const size_t length = MIN(data[at + 1], size - at - 2);
		g_autoptr(GError) error = NULL;
		const bool good =
			pmi_server_input(server, rank, (const char *)data + at + 2, length, &error);

		fuzz_check_error(good, error);
		fuzz_check(good || !failed); /* a job fails once */
		failed = failed || !good;
		take_output(server, ranks);
		at += 2 + length;
	}
	return 0;
}
