/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_merge.h"

#include <glib/gstdio.h>

#include "common/config/config.h"
#include "common/error_fail.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_study.h"
#include "controller/study/study.h"

/* The most ranges of trials, or parts, on a line. */
#define NAMED_MAX 20

/* The contents of the whole. */
struct whole {
	GHashTable *rows;     /* key -> directory of the row, borrowed */
	GHashTable *policies; /* set of names */
	GArray *counts;       /* of guint32: rows of trial i + 1 */
	GArray *parts;        /* of struct study_part */
};

/* A directory being read. */
struct look {
	struct whole *whole;
	const char *dir;
	const char *overlaps; /* the directory that already has one of its rows; NULL: none */
};

static void whole_clear(struct whole *whole)
{
	g_hash_table_unref(whole->rows);
	g_hash_table_unref(whole->policies);
	g_array_unref(whole->counts);
	g_array_unref(whole->parts);
}

static void look_at_row(const struct study_row *row, void *data)
{
	struct look *look = data;
	struct whole *whole = look->whole;
	char *key = study_row_key(&row->point, row->policy, row->limit_j, row->trial);
	const char *before = g_hash_table_lookup(whole->rows, key);

	if (before && !look->overlaps)
		look->overlaps = before;
	if (before || row->trial == 0) {
		g_free(key);
		return;
	}
	g_hash_table_insert(whole->rows, key, (gpointer)look->dir);
	g_hash_table_add(whole->policies, g_strdup(row->policy));
	if (row->trial > whole->counts->len)
		g_array_set_size(whole->counts, row->trial);
	g_array_index(whole->counts, guint32, row->trial - 1)++;
}

static bool look_at(struct whole *whole, struct study_store *store, const char *dir,
		    const char **ret_overlaps, GError **error)
{
	struct look look = {.whole = whole, .dir = dir};
	g_autoptr(GArray) parts = study_store_parts(store);

	g_array_append_vals(whole->parts, parts->data, parts->len);
	if (!study_store_each(store, look_at_row, &look, error))
		return false;
	*ret_overlaps = look.overlaps;
	return true;
}

static bool check_part(struct whole *whole, struct study_store *first, const char *dir,
		       GError **error)
{
	g_autoptr(study_store_t) store = study_store_open(dir, NULL, NULL, error);
	const char *overlaps;

	if (!store)
		return false;
	if (!g_str_equal(study_store_identity(store), study_store_identity(first)))
		return error_fail(error, STUDY_ERROR, STUDY_ERROR_OTHER,
				  "%s: is a part of another study (%s, not %s)", dir,
				  study_store_identity(store), study_store_identity(first));
	if (!look_at(whole, store, dir, &overlaps, error))
		return false;
	if (overlaps)
		g_set_error(error, STUDY_ERROR, STUDY_ERROR_PARTS,
			    "%s: has results that %s has too; give each part once, and parts of "
			    "one division",
			    dir, overlaps);
	return !overlaps;
}

/* The results in `dir` may come from the parts of an earlier merge. */
static bool check_before(struct whole *whole, const struct study_store *first, const char *dir,
			 GError **error)
{
	g_autofree char *file = g_build_filename(dir, STUDY_FILE, NULL);
	g_autoptr(study_store_t) store = NULL;
	const char *overlaps;

	if (!g_file_test(file, G_FILE_TEST_EXISTS))
		return true;
	store = study_store_open(dir, study_store_identity(first), study_store_config(first),
				 error);
	return store && look_at(whole, store, dir, &overlaps, error);
}

/* The configuration in a store; the caller frees. */
static struct config *config_of(const struct study_store *store, GError **error)
{
	g_autofree char *path = NULL;
	const int fd = g_file_open_tmp("virtbed-study-XXXXXX.yaml", &path, error);
	struct config *config;

	if (fd < 0)
		return NULL;
	g_close(fd, NULL);
	config = g_file_set_contents(path, study_store_config(store), -1, error)
			 ? config_controller_load(path, error)
			 : NULL;
	g_unlink(path);
	return config;
}

/* The number of trials that the whole needs. */
static uint32_t count_trials(const struct whole *whole, const struct config *config)
{
	uint32_t trials = whole->counts->len;

	for (guint i = 0; i < whole->parts->len; i++)
		trials = MAX(trials, g_array_index(whole->parts, struct study_part, i).trials);
	return whole->parts->len > 0 ? trials : MAX(trials, config_study(config)->trials);
}

/*
 * The missing shards of the finest division; "" where none is missing or the division is unknown.
 */
static char *missing_parts(const struct whole *whole)
{
	g_autoptr(GString) text = g_string_new(NULL);
	uint32_t shards = 1;
	uint32_t named = 0;

	for (guint i = 0; i < whole->parts->len; i++)
		shards = MAX(shards, g_array_index(whole->parts, struct study_part, i).shards);
	for (uint32_t shard = 1; shard <= shards && shards > 1; shard++) {
		bool there = false;

		for (guint i = 0; i < whole->parts->len && !there; i++) {
			const struct study_part *part =
				&g_array_index(whole->parts, struct study_part, i);

			there = (shard - 1) % part->shards == part->shard - 1 &&
				shards % part->shards == 0;
		}
		if (!there && named++ < NAMED_MAX)
			g_string_append_printf(text, "%s%u/%u", text->len ? ", " : "", shard,
					       shards);
	}
	if (named == 0)
		return g_strdup("");
	return g_strdup_printf(" (part%s %s%s)", named == 1 ? "" : "s", text->str,
			       named > NAMED_MAX ? " ..." : "");
}

/* The trials with missing results, as ranges; NULL: none. */
static char *missing_trials(const struct whole *whole, const struct config *config)
{
	const uint32_t trials = count_trials(whole, config);
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree struct study_point *points = NULL;
	g_autofree char *parts = NULL;
	uint32_t points_count;
	uint32_t missing = 0;
	uint32_t ranges = 0;
	uint64_t wanted;

	points = study_points_new(config, &points_count);
	wanted = (uint64_t)points_count * config->experiment->limits_count *
		 g_hash_table_size(whole->policies);
	for (uint32_t trial = 1, first = 0; trial <= trials + 1; trial++) {
		const bool lacks = trial <= trials && (trial > whole->counts->len ||
						       g_array_index(whole->counts, guint32,
								     trial - 1) < MAX(wanted, 1));

		missing += lacks;
		if (lacks && first == 0)
			first = trial;
		if (lacks || first == 0)
			continue;
		if (ranges++ < NAMED_MAX)
			g_string_append_printf(text, first == trial - 1 ? "%s%u" : "%s%u-%u",
					       text->len ? ", " : "", first, trial - 1);
		first = 0;
	}
	if (missing == 0)
		return NULL;
	parts = missing_parts(whole);
	return g_strdup_printf("%u of %u trials are missing or incomplete: %s%s%s", missing, trials,
			       text->str, ranges > NAMED_MAX ? " ..." : "", parts);
}

/* Writing. */

static void copy_row(const struct study_row *row, void *data)
{
	struct study_row copy = *row;

	copy.policy = g_intern_string(row->policy);
	g_array_append_val((GArray *)data, copy);
}

static bool add_part(struct study_store *whole, const char *dir, GError **error)
{
	g_autoptr(study_store_t) store = study_store_open(dir, NULL, NULL, error);
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct study_row));
	g_autoptr(GArray) parts = store ? study_store_parts(store) : NULL;

	for (guint i = 0; store && i < parts->len; i++)
		if (!study_store_add_part(whole, &g_array_index(parts, struct study_part, i),
					  error))
			return false;
	return store && study_store_each(store, copy_row, rows, error) &&
	       study_store_add(whole, (const struct study_row *)(void *)rows->data, rows->len,
			       error);
}

static bool check(struct whole *whole, struct study_store *first, const char *dir,
		  char *const *parts, char **ret_missing, GError **error)
{
	g_autoptr(config_t) config = config_of(first, error);

	if (!config)
		return false;
	for (char *const *part = parts; *part; part++)
		if (!check_part(whole, first, *part, error))
			return false;
	if (!check_before(whole, first, dir, error))
		return false;
	*ret_missing = missing_trials(whole, config);
	return true;
}

static struct study_store *put_together(const struct study_store *first, const char *dir,
					char *const *parts, GError **error)
{
	g_autoptr(study_store_t) store = study_store_open(dir, study_store_identity(first),
							  study_store_config(first), error);

	for (char *const *part = parts; store && *part; part++)
		if (!add_part(store, *part, error))
			return NULL;
	return g_steal_pointer(&store);
}

struct study_store *study_merge(const char *dir, char *const *parts, bool partial,
				char **ret_missing, GError **error)
{
	struct whole whole = {
		.rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.policies = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.counts = g_array_new(FALSE, TRUE, sizeof(guint32)),
		.parts = g_array_new(FALSE, FALSE, sizeof(struct study_part)),
	};
	g_autoptr(study_store_t) first = study_store_open(parts[0], NULL, NULL, error);
	g_autofree char *missing = NULL;
	const bool good = first && check(&whole, first, dir, parts, &missing, error);

	whole_clear(&whole);
	if (!good)
		return NULL;
	if (missing && !partial)
		return error_null(error, STUDY_ERROR, STUDY_ERROR_PARTS,
				  "merge: %s; give those parts too, or --partial", missing);
	*ret_missing = g_steal_pointer(&missing);
	return put_together(first, dir, parts, error);
}
