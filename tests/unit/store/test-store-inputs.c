/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs in packs: written, read, removed, damaged. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "controller/store/input_pack.h"
#include "controller/store/store_private.h"
#include "controller/store/store_service.h"
#include "tests/unit/store/run_dir.h"

static void set_up(struct run_dir *fixture, const void *data)
{
	run_dir_make(fixture);
}

static void tear_down(struct run_dir *fixture, const void *data)
{
	run_dir_remove(fixture);
}

/* A number of some kind: whole, decimal, any, or one of the ends. */
static double draw_real(GRand *rand)
{
	static const double ends[] = {0, -0.0, INFINITY, -INFINITY, 5e-324, -1e300, 0x1p53, 0.1};

	switch (g_rand_int_range(rand, 0, 4)) {
	case 0:
		return g_rand_int_range(rand, 0, 1000);
	case 1:
		return g_rand_int_range(rand, 0, 1000000000) / 1e9;
	case 2:
		return g_rand_double(rand);
	default:
		return ends[g_rand_int_range(rand, 0, G_N_ELEMENTS(ends))];
	}
}

static double some_real(GRand *rand)
{
	return g_rand_boolean(rand) ? draw_real(rand) : NAN;
}

static int64_t some_sum(GRand *rand)
{
	return g_rand_boolean(rand) ? (int64_t)((uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand))
				    : -1;
}

static char *some_text(GRand *rand, const char *text)
{
	return g_rand_boolean(rand) ? g_strdup_printf("%s%d", text, g_rand_int_range(rand, 0, 40))
				    : NULL;
}

static struct store_input *draw_input(GRand *rand, int64_t run, uint32_t n)
{
	struct store_input *input = record_new(&store_input_record);

	input->run = run;
	input->n = n;
	input->kind = some_text(rand, "kind");
	input->time_s = some_real(rand);
	input->task = g_rand_boolean(rand) ? (int64_t)g_rand_int(rand) : -1;
	input->attempt = g_rand_int_range(rand, -1, 3);
	input->exec_s = some_real(rand);
	input->energy_j = some_real(rand);
	input->detail = some_text(rand, "{}");
	input->answers = some_text(rand, "");
	input->snapshot_sum = some_sum(rand);
	input->plan_sum = some_sum(rand);
	input->request_sum = some_sum(rand);
	input->cut = g_rand_int_range(rand, -1, 2);
	return input;
}

static GPtrArray *draw_inputs(GRand *rand, int64_t run, uint32_t count)
{
	GPtrArray *inputs = record_list_new(&store_input_record);

	for (uint32_t n = 1; n <= count; n++)
		g_ptr_array_add(inputs, draw_input(rand, run, n));
	return inputs;
}

static bool same_bits(int64_t a, int64_t b, uint64_t kept)
{
	return (a == -1) == (b == -1) && ((uint64_t)a & kept) == ((uint64_t)b & kept);
}

/* All is the same but the bits of sums that are not kept. */
static void assert_same(const struct store_input *was, struct store_input *is)
{
	g_assert_true(same_bits(was->snapshot_sum, is->snapshot_sum, STORE_PACKED_SNAPSHOT));
	g_assert_true(same_bits(was->plan_sum, is->plan_sum, STORE_PACKED_PLAN));
	g_assert_true(same_bits(was->request_sum, is->request_sum, STORE_PACKED_REQUEST));
	is->snapshot_sum = was->snapshot_sum;
	is->plan_sum = was->plan_sum;
	is->request_sum = was->request_sum;
	g_assert_true(record_equal(&store_input_record, was, is));
}

static void test_round_trip(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);

	for (guint i = 0; i < 200; i++) {
		g_autoptr(GPtrArray) was = draw_inputs(rand, 1, g_rand_int_range(rand, 1, 60));
		g_autoptr(GBytes) pack = input_pack_write(was);
		g_autoptr(GPtrArray) is = input_pack_read(pack, 1, 1);

		g_assert_nonnull(is);
		g_assert_cmpuint(is->len, ==, was->len);
		for (guint n = 0; n < is->len; n++) {
			const struct store_input *one = was->pdata[n];
			struct store_input *other = is->pdata[n];

			/* SQLite would forget it. */
			g_assert_true(one->time_s != 0 ||
				      !signbit(one->time_s) == !signbit(other->time_s));
			assert_same(one, other);
		}
	}
}

/* A pack, damaged or not, is read or refused; what is read can be packed again. */
static bool read_any(GBytes *bytes)
{
	g_autoptr(GPtrArray) read = input_pack_read(bytes, 1, 1);
	g_autoptr(GPtrArray) again = NULL;
	g_autoptr(GBytes) pack = NULL;

	if (!read)
		return false;
	g_assert_cmpuint(read->len, <=, INPUT_PACK_MAX);
	pack = input_pack_write(read);
	again = input_pack_read(pack, 1, 1);
	g_assert_nonnull(again);
	g_assert_cmpuint(again->len, ==, read->len);
	for (guint i = 0; i < read->len; i++)
		assert_same(read->pdata[i], again->pdata[i]);
	return true;
}

/* Of damaged bytes of a file, which zlib's check sum finds. */
static void test_damaged(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(8);
	g_autoptr(GPtrArray) inputs = draw_inputs(rand, 1, 50);
	g_autoptr(GBytes) pack = input_pack_write(inputs);
	guint refused = 0;

	for (guint i = 0; i < 2000; i++) {
		gsize size;
		g_autofree guint8 *bytes =
			g_memdup2(g_bytes_get_data(pack, &size), g_bytes_get_size(pack));
		g_autoptr(GBytes) other = NULL;

		bytes[g_rand_int_range(rand, 0, (gint32)size)] ^= (guint8)g_rand_int(rand);
		other = g_bytes_new(bytes, g_rand_boolean(rand) ? size : size / 2);
		refused += !read_any(other);
	}
	g_assert_cmpuint(refused, >, 1900);
}

static guint take_size(const guint8 **at)
{
	guint size = 0;

	for (guint shift = 0;; shift += 7) {
		size |= (guint)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return size;
	}
}

static void append_size(GByteArray *bytes, guint size)
{
	const guint8 parts[] = {(guint8)(size | 0x80), (guint8)(size >> 7 | 0x80),
				(guint8)(size >> 14 | 0x80), (guint8)(size >> 21)};

	g_byte_array_append(bytes, parts, sizeof(parts));
}

/* The columns of a pack, GPtrArray of GByteArray. */
static GPtrArray *open_pack(GBytes *pack)
{
	GPtrArray *columns = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
	const guint8 *at = g_bytes_get_data(pack, NULL);
	const guint8 *const end = at + g_bytes_get_size(pack);
	uLongf size = take_size(&at);
	g_autofree guint8 *whole = g_malloc(size);
	const guint8 *column = whole;

	g_assert_cmpint(uncompress(whole, &size, at, (uLong)(end - at)), ==, Z_OK);
	while (column < whole + size) {
		const guint length = take_size(&column);
		GByteArray *bytes = g_byte_array_new();

		g_byte_array_append(bytes, column, length);
		g_ptr_array_add(columns, bytes);
		column += length;
	}
	return columns;
}

/* A pack of such columns, with a good check sum. */
static GBytes *close_pack(const GPtrArray *columns)
{
	g_autoptr(GByteArray) whole = g_byte_array_new();
	GByteArray *pack = g_byte_array_new();
	g_autofree guint8 *packed = NULL;
	uLongf size;

	for (guint i = 0; i < columns->len; i++) {
		const GByteArray *column = columns->pdata[i];

		append_size(whole, column->len);
		g_byte_array_append(whole, column->data, column->len);
	}
	size = compressBound(whole->len);
	packed = g_malloc(size);
	g_assert_cmpint(compress(packed, &size, whole->data, whole->len), ==, Z_OK);
	append_size(pack, whole->len);
	g_byte_array_append(pack, packed, (guint)size);
	return g_byte_array_free_to_bytes(pack);
}

/* Writes a part of a column over, or into it. */
static void change_column(GByteArray *column, guint at, const guint8 *bytes, guint size,
			  bool insert)
{
	const guint moved = column->len - at;

	g_assert_cmpuint(at, <=, column->len);
	if (insert) {
		g_byte_array_set_size(column, column->len + size);
		memmove(column->data + at + size, column->data + at, moved);
	}
	size = MIN(size, column->len - at);
	if (size > 0)
		memcpy(column->data + at, bytes, size);
}

/* What is hard on a reader: the ends of whole numbers, zeros, what is no UTF-8. */
static const struct {
	guint8 bytes[10];
	guint size;
} hard[] = {
	{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 10},
	{{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 10},
	{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 10},
	{{0xfe, 0xff, 0xff, 0xff, 0x1f}, 5},
	{{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, 8},
	{{0, 0, 0, 0}, 4},
	{{1, 1, 1, 1}, 4},
	{{3}, 1},
};

static void damage_column(GRand *rand, const GPtrArray *columns)
{
	GByteArray *column = columns->pdata[g_rand_int_range(rand, 0, (gint32)columns->len)];
	const GByteArray *other = columns->pdata[g_rand_int_range(rand, 0, (gint32)columns->len)];
	const guint at = (guint)g_rand_int_range(rand, 0, (gint32)column->len + 1);
	const guint which = (guint)g_rand_int_range(rand, 0, G_N_ELEMENTS(hard));
	const guint8 byte = (guint8)g_rand_int(rand);

	switch (g_rand_int_range(rand, 0, 4)) {
	case 0:
		change_column(column, at, &byte, 1, g_rand_boolean(rand));
		break;
	case 1:
		change_column(column, at, hard[which].bytes, hard[which].size,
			      g_rand_boolean(rand));
		break;
	case 2:
		g_byte_array_set_size(column, at);
		break;
	default:
		if (other != column && other->len > 0)
			change_column(column, at, other->data, other->len, g_rand_boolean(rand));
		break;
	}
}

/* Of damaged columns, under a check sum that is right for them. */
static void test_damaged_columns(void)
{
	guint refused = 0, read = 0;

	for (guint seed = 0; seed < 400; seed++) {
		g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
		g_autoptr(GPtrArray) inputs = draw_inputs(rand, 1, 30);
		g_autoptr(GBytes) pack = input_pack_write(inputs);
		g_autoptr(GPtrArray) columns = open_pack(pack);
		g_autoptr(GBytes) same = close_pack(columns);
		g_autoptr(GBytes) other = NULL;

		g_assert_true(read_any(same));
		for (gint left = g_rand_int_range(rand, 1, 4); left > 0; left--)
			damage_column(rand, columns);
		other = close_pack(columns);
		if (read_any(other))
			read++;
		else
			refused++;
	}
	g_assert_cmpuint(refused, >, 100);
	g_assert_cmpuint(read, >, 20);
}

/* Each column begins with each of what is hard. */
static void test_hard_columns(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(12);
	g_autoptr(GPtrArray) inputs = draw_inputs(rand, 1, 30);
	g_autoptr(GBytes) pack = input_pack_write(inputs);
	g_autoptr(GPtrArray) all = open_pack(pack);

	for (guint i = 0; i < all->len; i++)
		for (guint j = 0; j < 2 * G_N_ELEMENTS(hard); j++) {
			g_autoptr(GPtrArray) columns = open_pack(pack);
			g_autoptr(GBytes) other = NULL;

			change_column(columns->pdata[i], 0, hard[j / 2].bytes, hard[j / 2].size,
				      j % 2 || ((GByteArray *)columns->pdata[i])->len == 0);
			other = close_pack(columns);
			read_any(other);
		}
}

/* Whether an input with these texts, borrowed, is read from its pack. */
static bool is_read(const char *kind, const char *detail, const char *answers)
{
	struct store_input input = {.kind = (char *)kind,
				    .detail = (char *)detail,
				    .answers = (char *)answers};
	g_autoptr(GPtrArray) inputs = g_ptr_array_new();
	g_autoptr(GBytes) pack = NULL;
	g_autoptr(GPtrArray) read = NULL;

	g_ptr_array_add(inputs, &input);
	pack = input_pack_write(inputs);
	read = input_pack_read(pack, 1, 1);
	return read != NULL;
}

/* Each input has a copy of its kind: a long one would make a small pack large. */
static void test_long_kind(void)
{
	g_autofree char *longest = g_strnfill(64, 'k');
	g_autofree char *longer = g_strnfill(65, 'k');

	g_assert_true(is_read("", "", ""));
	g_assert_true(is_read(longest, longer, longer));
	g_assert_false(is_read(longer, NULL, NULL));
}

/* Texts become JSON, which is UTF-8. */
static void test_no_utf8(void)
{
	static const char *const texts[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80"};

	g_assert_true(is_read("\xc3\xa4", "\xc3\xa4", "\xc3\xa4"));
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_assert_false(is_read(texts[i], "{}", "1"));
		g_assert_false(is_read("s", texts[i], "1"));
		g_assert_false(is_read("s", "{}", texts[i]));
	}
}

/* The lengths of texts are what is in the column, also where there is a byte of 0. */
static void test_zero_byte(void)
{
	struct store_input input = {.kind = (char *)"one", .detail = (char *)"two"};
	g_autoptr(GPtrArray) inputs = g_ptr_array_new();
	g_autoptr(GPtrArray) columns = NULL;
	g_autoptr(GPtrArray) read = NULL;
	g_autoptr(GBytes) pack = NULL;
	g_autoptr(GBytes) other = NULL;
	guint changed = 0;

	g_ptr_array_add(inputs, &input);
	pack = input_pack_write(inputs);
	columns = open_pack(pack);
	for (guint i = 0; i < columns->len; i++) {
		GByteArray *column = columns->pdata[i];

		if (column->len == 3 && memcmp(column->data, "two", 3) == 0) {
			column->data[1] = 0;
			changed++;
		}
	}
	g_assert_cmpuint(changed, ==, 1);
	other = close_pack(columns);
	read = input_pack_read(other, 1, 1);
	g_assert_null(read);
}

static guint count_rows(struct run_dir *fixture, const char *sql)
{
	int64_t count = -1;

	g_assert_true(database_find_integer(fixture->store->database, sql,
					    DATABASE_ARGS(fixture->run), &count, "count", NULL));
	return (guint)count;
}

/* Rows before packs are made, packs in between, and no pack over a full state. */
static void test_packed(struct run_dir *fixture, const void *data)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(9);
	g_autoptr(GPtrArray) inputs = draw_inputs(rand, fixture->run, 100);
	g_autoptr(GBytes) bytes = g_bytes_new_static("1 x", 3);
	const struct store_state state = {
		.run = fixture->run, .n = 41, .time_s = 1, .start = true, .state = bytes};
	g_autoptr(GPtrArray) read = NULL;
	struct store_input *last;
	uint64_t sums = 0;
	uint32_t last_n;

	for (guint i = 0; i < inputs->len; i++)
		g_assert_true(store_put_input(fixture->store, inputs->pdata[i], NULL));
	g_assert_true(store_put_state(fixture->store, &state, NULL));
	g_assert_true(store_pack_inputs(fixture->store, fixture->run, 90, 4, NULL));
	g_assert_cmpuint(count_rows(fixture, "SELECT count(*) FROM input WHERE run = ?"), ==, 10);
	g_assert_cmpuint(count_rows(fixture, "SELECT count(*) FROM input_pack WHERE run = ?"), ==,
			 2);
	g_assert_true(store_last_input(fixture->store, fixture->run, &last_n, NULL));
	g_assert_cmpuint(last_n, ==, 100);
	for (uint32_t after = 0; after < 100; after += 7) {
		g_autoptr(GPtrArray) some =
			store_inputs_after(fixture->store, fixture->run, after, 30, NULL);

		g_assert_cmpuint(some->len, ==, MIN(30, 100 - after));
		for (guint i = 0; i < some->len; i++)
			assert_same(inputs->pdata[after + i], some->pdata[i]);
	}
	/* The last one of a pack has the sums of all. */
	for (guint i = 0; i < 40; i++)
		sums = store_join_sums(sums, inputs->pdata[i]);
	read = store_inputs_after(fixture->store, fixture->run, 39, 1, NULL);
	last = read->pdata[0];
	g_assert_cmpuint(last->pack_count, ==, 40);
	g_assert_cmpuint(last->pack_sums, ==, sums);
}

/* A pack goes with the full states that needed it. */
static void test_prune(struct run_dir *fixture, const void *data)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(10);
	g_autoptr(GPtrArray) inputs = draw_inputs(rand, fixture->run, 100);
	g_autoptr(GBytes) bytes = g_bytes_new_static("1 x", 3);
	g_autoptr(GPtrArray) left = NULL;
	bool more;

	for (guint i = 0; i < inputs->len; i++)
		g_assert_true(store_put_input(fixture->store, inputs->pdata[i], NULL));
	for (uint32_t n = 1; n < 100; n += 20) {
		const struct store_state state = {.run = fixture->run,
						  .n = n,
						  .time_s = 10 * n,
						  .state = bytes};

		g_assert_true(store_put_state(fixture->store, &state, NULL));
	}
	g_assert_true(store_pack_inputs(fixture->store, fixture->run, 100, 9, NULL));
	g_assert_cmpuint(count_rows(fixture, "SELECT count(*) FROM input_pack WHERE run = ?"), ==,
			 5);
	g_assert_true(store_prune(fixture->store, fixture->run, 400, 1000, &more, NULL));
	left = store_inputs_after(fixture->store, fixture->run, 0, 1000, NULL);
	g_assert_cmpuint(left->len, ==, 60);
	g_assert_cmpuint(((struct store_input *)left->pdata[0])->n, ==, 41);
}

/* Stores a pack of so many inputs; its numbers are columns of SQL. */
static void put_pack(struct run_dir *fixture, const char *n, const char *last, uint32_t count)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	g_autoptr(GPtrArray) inputs = draw_inputs(rand, fixture->run, count);
	g_autoptr(GBytes) bytes = input_pack_write(inputs);
	const struct store_input_pack pack = {
		.run = fixture->run, .n = 1, .last = count, .begins = 1, .inputs = bytes};
	g_autofree char *sql =
		g_strdup_printf("UPDATE input_pack SET n = %s, last = %s WHERE run = ?", n, last);
	g_autoptr(GError) error = NULL;

	g_assert_true(database_do(fixture->store->database, "DELETE FROM input_pack WHERE run = ?",
				  DATABASE_ARGS(fixture->run), "remove", NULL));
	g_assert_true(database_put(fixture->store->database, &store_input_pack_record, &pack,
				   "store", NULL));
	database_do(fixture->store->database, sql, DATABASE_ARGS(fixture->run), "change", &error);
	g_assert_no_error(error);
}

/* Numbers that a pack cannot have are damage, whatever the columns are. */
static void test_bad_numbers(struct run_dir *fixture, const void *data)
{
	static const struct {
		const char *n, *last;
		uint32_t count;
	} packs[] = {
		{"0", "4294967295", 0},
		{"0", "4294967296", 0},
		{"0", "9", 10},
		{"1", "5", 4},
		{"4294967290", "5000000000", 6},
		{"-3", "4", 8},
		{"1", "3", 4},
		{"1", "0", 0},
		{"0", "0", 0},
		{"1", "-5", 4},
		{"1", "'four'", 4},
	};
	g_autoptr(GPtrArray) good = NULL;

	put_pack(fixture, "1", "4", 4);
	good = store_inputs_after(fixture->store, fixture->run, 0, 10, NULL);
	g_assert_cmpuint(good->len, ==, 4);
	for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
		g_autofree char *begin = NULL;
		g_autoptr(GError) error = NULL;

		g_test_message("from %s to %s: %u", packs[i].n, packs[i].last, packs[i].count);
		put_pack(fixture, packs[i].n, packs[i].last, packs[i].count);
		g_assert_null(store_inputs_after(fixture->store, fixture->run, 0, 10, &error));
		g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
		begin = store_next_begin(fixture->store, fixture->run, 1);
		g_assert_null(begin);
	}
}

/* A page that ends with such a number is followed by another one, not by itself. */
static void test_bad_ends(struct run_dir *fixture, const void *data)
{
	static const char *const packs[] = {"4.5", "'4x'"};
	static const char *const rows[] = {"4.5", "4294967295", "5000000000", "'4x'"};

	for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
		g_autoptr(GPtrArray) inputs = NULL;
		g_autoptr(GError) error = NULL;

		put_pack(fixture, "1", packs[i], 4);
		inputs = store_inputs_after(fixture->store, fixture->run, 0, 10, &error);
		g_assert_null(inputs);
		g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
	}
	put_pack(fixture, "1", "4", 4);
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct store_input input = {.run = fixture->run, .n = 5};
		g_autofree char *sql =
			g_strdup_printf("UPDATE input SET n = %s WHERE run = ? AND n = 5", rows[i]);
		g_autoptr(GPtrArray) inputs = NULL;
		g_autoptr(GError) error = NULL;

		g_assert_true(database_do(fixture->store->database,
					  "DELETE FROM input WHERE run = ?",
					  DATABASE_ARGS(fixture->run), "remove", NULL));
		g_assert_true(store_put_input(fixture->store, &input, NULL));
		g_assert_true(database_do(fixture->store->database, sql,
					  DATABASE_ARGS(fixture->run), "change", NULL));
		inputs = store_inputs_after(fixture->store, fixture->run, 0, 10, &error);
		g_assert_null(inputs);
		g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store/inputs/any inputs are packed and read", test_round_trip);
	g_test_add_func("/store/inputs/damaged packs are refused", test_damaged);
	g_test_add_func("/store/inputs/packs with damaged columns are read or refused",
			test_damaged_columns);
	g_test_add_func("/store/inputs/packs with hard columns are read or refused",
			test_hard_columns);
	g_test_add_func("/store/inputs/a pack has no long kinds", test_long_kind);
	g_test_add_func("/store/inputs/texts in packs are UTF-8", test_no_utf8);
	g_test_add_func("/store/inputs/texts in packs have no bytes of 0", test_zero_byte);
	g_test_add("/store/inputs/rows become packs up to full states", struct run_dir, NULL,
		   set_up, test_packed, tear_down);
	g_test_add("/store/inputs/packs are removed with what they follow", struct run_dir, NULL,
		   set_up, test_prune, tear_down);
	g_test_add("/store/inputs/packs with numbers that cannot be are refused", struct run_dir,
		   NULL, set_up, test_bad_numbers, tear_down);
	g_test_add("/store/inputs/numbers that are no whole ones end the reading", struct run_dir,
		   NULL, set_up, test_bad_ends, tear_down);
	return g_test_run();
}
