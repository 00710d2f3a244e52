/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inputs of a run: the last ones as rows, those before them in packs (input_pack.h), of which
 * each has the inputs from one number to another. No pack goes over a full state.
 */
#include "common/error_fail.h"
#include "controller/store/input_pack.h"
#include "controller/store/store_private.h"

STORE_DEFINE_PUT(store_put_input, store_input, "store an input")

uint64_t store_join_sums(uint64_t sums, const struct store_input *input)
{
	const int64_t each[] = {input->snapshot_sum, input->plan_sum, input->request_sum};

	/* The steps of FNV-1a, a word at a time, and the upper bits brought down. */
	for (guint i = 0; i < G_N_ELEMENTS(each); i++) {
		sums = (sums ^ (uint64_t)each[i]) * UINT64_C(0x100000001b3);
		sums ^= sums >> 29;
	}
	return sums;
}

/* Packs. */

static bool is_kind(const struct store_input *input, const char *kind)
{
	return input->kind && g_str_equal(input->kind, kind);
}

bool store_put_input_pack(struct store *store, const GPtrArray *inputs, GError **error)
{
	const struct store_input *first = inputs->pdata[0];
	const struct store_input *last = inputs->pdata[inputs->len - 1];
	g_autoptr(GBytes) bytes = input_pack_write(inputs);
	struct store_input_pack row = {.run = first->run,
				       .n = first->n,
				       .last = last->n,
				       .inputs = bytes};
	uint64_t sums = 0;

	for (guint i = 0; i < inputs->len; i++) {
		sums = store_join_sums(sums, inputs->pdata[i]);
		row.begins += is_kind(inputs->pdata[i], "begin");
		row.restores += is_kind(inputs->pdata[i], "restore");
	}
	row.sums = (int64_t)sums;
	return database_put(store->database, &store_input_pack_record, &row, "store inputs", error);
}

/* The most rows of a pack: none with the number of a full state but the first. */
static GPtrArray *list_rows(struct store *store, int64_t run, uint32_t until, GError **error)
{
	return database_list(
		store->database, &store_input_record,
		"WHERE run = ?1 AND n <= ?2 AND n < coalesce((SELECT min(n) FROM full_state"
		" WHERE run = ?1 AND n > (SELECT min(n) FROM input WHERE run = ?1)), 1 << 40)"
		" ORDER BY n LIMIT ?3",
		DATABASE_ARGS(run, until, STORE_PACK_INPUTS), "read the inputs", error);
}

bool store_pack_inputs(struct store *store, int64_t run, uint32_t until, uint32_t most,
		       GError **error)
{
	for (uint32_t i = 0; i < most; i++) {
		g_autoptr(GPtrArray) rows = list_rows(store, run, until, error);
		const struct store_input *last;

		if (!rows || rows->len == 0)
			return rows != NULL;
		last = rows->pdata[rows->len - 1];
		if (!store_put_input_pack(store, rows, error) ||
		    !database_do(store->database, "DELETE FROM input WHERE run = ? AND n <= ?",
				 DATABASE_ARGS(run, last->n), "pack the inputs", error))
			return false;
	}
	return true;
}

/* Reading. */

static bool fail_damaged(struct store *store, uint32_t from, GError **error)
{
	return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT,
			  "%s: the inputs from number %u on are damaged",
			  database_path(store->database), from);
}

/* Whether a pack has the inputs that it is to have. A number beyond 32 bits is read as the last. */
static bool is_whole(const struct store_input_pack *pack, const GPtrArray *inputs)
{
	return inputs && pack->n > 0 && pack->last >= pack->n && pack->last < UINT32_MAX &&
	       inputs->len == (uint64_t)pack->last - pack->n + 1;
}

static GPtrArray *unpack(struct store *store, const struct store_input_pack *pack, GError **error)
{
	GPtrArray *inputs = input_pack_read(pack->inputs, pack->run, pack->n);
	struct store_input *last;

	if (!is_whole(pack, inputs)) {
		g_clear_pointer(&inputs, g_ptr_array_unref);
		fail_damaged(store, pack->n, error);
		return NULL;
	}
	last = inputs->pdata[inputs->len - 1];
	last->pack_sums = (uint64_t)pack->sums;
	last->pack_count = inputs->len;
	return inputs;
}

/*
 * The first pack of a run with inputs above `after`, or whose numbers cannot be; NULL: there is
 * none, or with `error` failure.
 */
static struct store_input_pack *next_pack(struct store *store, int64_t run, uint32_t after,
					  GError **error)
{
	return database_get(store->database, &store_input_pack_record,
			    "WHERE run = ?1 AND n > ?2 - 65536 AND (last > ?2 OR last < n OR n < 1)"
			    " ORDER BY n LIMIT 1",
			    DATABASE_ARGS(run, after), "read the inputs", error);
}

/* Whether rows have numbers above `after`, each more than the one before it. */
static bool are_ascending(struct store *store, const GPtrArray *rows, uint32_t after,
			  GError **error)
{
	for (guint i = 0; i < rows->len; i++) {
		const struct store_input *row = rows->pdata[i];

		if (row->n <= after || row->n == UINT32_MAX)
			return fail_damaged(store, after + 1, error);
		after = row->n;
	}
	return true;
}

GPtrArray *store_inputs_after(struct store *store, int64_t run, uint32_t after, uint32_t most,
			      GError **error)
{
	g_autoptr(GPtrArray) inputs = record_list_new(&store_input_record);
	g_autoptr(GPtrArray) rows = NULL;

	while (inputs->len < most) {
		GError *reason = NULL;
		struct store_input_pack *pack = next_pack(store, run, after, &reason);
		GPtrArray *packed = pack ? unpack(store, pack, &reason) : NULL;
		const guint before = inputs->len;

		for (guint i = 0; packed && i < packed->len; i++) {
			struct store_input *input = packed->pdata[i];

			if (input->n > after && inputs->len < most) {
				after = input->n;
				g_ptr_array_add(inputs, input);
				packed->pdata[i] = NULL;
			}
		}
		if (packed)
			g_ptr_array_unref(packed);
		/* SQL compares columns of any type, of which a fraction is lost here. */
		if (packed && inputs->len == before)
			fail_damaged(store, pack->n, &reason);
		store_input_pack_free(pack);
		if (reason) {
			g_propagate_error(error, reason);
			return NULL;
		}
		if (!pack)
			break;
	}
	rows = database_list(store->database, &store_input_record,
			     "WHERE run = ? AND n > ? ORDER BY n LIMIT ?",
			     DATABASE_ARGS(run, after, most - inputs->len), "read the inputs",
			     error);
	if (!rows || !are_ascending(store, rows, after, error))
		return NULL;
	g_ptr_array_extend_and_steal(inputs, g_steal_pointer(&rows));
	return g_steal_pointer(&inputs);
}

/* The detail of the first "begin" of a pack from a number on; the caller frees. */
static char *find_begin(struct store *store, const struct store_input_pack *pack, uint32_t from)
{
	g_autoptr(GPtrArray) inputs = unpack(store, pack, NULL);

	for (guint i = 0; inputs && i < inputs->len; i++) {
		const struct store_input *input = inputs->pdata[i];

		if (input->n >= from && is_kind(input, "begin"))
			return g_strdup(input->detail);
	}
	return NULL;
}

char *store_next_begin(struct store *store, int64_t run, uint32_t from)
{
	g_autoptr(GPtrArray) packs =
		database_list(store->database, &store_input_pack_record,
			      "WHERE run = ? AND last >= ? AND begins > 0 ORDER BY n LIMIT 2",
			      DATABASE_ARGS(run, from), "read the inputs", NULL);
	char *found = NULL;

	for (guint i = 0; !found && packs && i < packs->len; i++)
		found = find_begin(store, packs->pdata[i], from);
	return found
		       ?: database_find_text(store->database,
					     "SELECT detail FROM input WHERE run = ? AND n >= ?"
					     " AND kind = 'begin' ORDER BY n LIMIT 1",
					     DATABASE_ARGS(run, from), "read the inputs", NULL);
}

uint32_t store_count_restores(struct store *store, int64_t run)
{
	int64_t count = 0;
	int64_t packed = 0;

	database_find_integer(store->database,
			      "SELECT count(*) FROM input WHERE run = ? AND kind = 'restore'",
			      DATABASE_ARGS(run), &count, "read the inputs", NULL);
	if (store_version(store) >= 13)
		database_find_integer(store->database,
				      "SELECT sum(restores) FROM input_pack WHERE run = ?",
				      DATABASE_ARGS(run), &packed, "read the inputs", NULL);
	return (uint32_t)(count + packed);
}

bool store_last_input(struct store *store, int64_t run, uint32_t *ret_last, GError **error)
{
	int64_t last = 0;
	int64_t packed = 0;
	const bool good =
		(store_version(store) < 11 ||
		 database_find_integer(store->database, "SELECT max(n) FROM input WHERE run = ?",
				       DATABASE_ARGS(run), &last, "read the inputs", error)) &&
		(store_version(store) < 13 ||
		 database_find_integer(store->database,
				       "SELECT max(last) FROM input_pack WHERE run = ?",
				       DATABASE_ARGS(run), &packed, "read the inputs", error));

	*ret_last = (uint32_t)CLAMP(MAX(last, packed), 0, UINT32_MAX);
	return good;
}
