/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/attribute.h"

#include <stdio.h>
#include <unistd.h>

/* The progress line. */
struct progress {
	const char *name;
	gint64 begun;
	bool shown;
};

static bool show_progress(uint32_t done, uint32_t count, void *data)
{
	struct progress *progress = data;
	const double elapsed_s =
		(double)(g_get_monotonic_time() - progress->begun) / (double)G_TIME_SPAN_SECOND;

	progress->shown = true;
	fprintf(stderr, "\r%s: attributing: %u of %u runs", progress->name, done, count);
	if (done > 0)
		fprintf(stderr, ", %.0f s left ", elapsed_s * (count - done) / done);
	return true;
}

struct attribution *attribute(const char *name, const struct compare *compare, uint32_t jobs,
			      GError **error)
{
	struct progress progress = {.name = name, .begun = g_get_monotonic_time()};
	const struct attribution_options options = {
		.jobs = jobs ? jobs : g_get_num_processors(),
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.data = &progress,
	};
	struct attribution *attribution = attribution_new(compare, &options, error);

	if (progress.shown)
		fputs("\r\033[K", stderr);
	return attribution;
}

bool attribute_directories(const char *name, const struct summary *a, const struct summary *b,
			   uint32_t jobs, struct attributed *ret_attributed, GError **error)
{
	struct attributed *made = ret_attributed;
	const struct summary *sides[] = {a, b};

	*made = (struct attributed){0};
	for (int i = 0; i < 2; i++)
		made->noise[i] = sides[i]->measured ? resampling_new(sides[i], false, NULL) : NULL;
	compare_sides_init(&made->sides, a, resampling_compare(made->noise[0]), b,
			   resampling_compare(made->noise[1]));
	made->compare = compare_new(&made->sides, false, error);
	if (made->compare)
		made->attribution = attribute(name, made->compare, jobs, error);
	return made->attribution != NULL;
}

void attributed_clear(struct attributed *attributed)
{
	attribution_free(attributed->attribution);
	compare_free(attributed->compare);
	compare_sides_clear(&attributed->sides);
	for (int i = 0; i < 2; i++)
		resampling_free(attributed->noise[i]);
}
