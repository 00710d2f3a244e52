/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/record/record.h"

#include <math.h>
#include <string.h>

#include "common/json.h"

struct vm {
	uint32_t node;
	int64_t save_ns;
	char *host;
};

struct point {
	double x, y;
};

enum colour { RED, GREEN, BLUE };

struct thing {
	uint32_t n;
	int64_t at_ns;
	int64_t skew_ns;
	double share;
	bool done;
	char *reason;
	enum colour colour;
	json_t *extra;
	struct point point;
	uint32_t count;
	uint32_t *nodes;
	struct vm *vms;
	GPtrArray *past; /* struct vm elements */
};

static void vm_free(void *vm);
static void thing_free(void *thing);

static const struct record_field vm_fields[] = {
	{RECORD_FIELD_U32(vm, node)},
	{RECORD_AT(vm, save_ns), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE},
	{RECORD_FIELD_TEXT(vm, host), .null = RECORD_NULL_POINTER, .flags = RECORD_OPTIONAL},
	{NULL},
};
static const struct record vm_record = {
	.name = "VM", .size = sizeof(struct vm), .fields = vm_fields, .free = vm_free};

static const struct record_field point_fields[] = {
	{RECORD_AT(point, x), .type = RECORD_REAL, .min = -1, .max = 1},
	{RECORD_FIELD_REAL(point, y)},
	{NULL},
};
static const struct record point_record = {
	.name = "point", .size = sizeof(struct point), .fields = point_fields};

static const char *const colours[] = {"red", "green", "blue", NULL};
static const struct record_field thing_fields[] = {
	{RECORD_FIELD_U32(thing, n), .min = 1, .max = 100000},
	{RECORD_FIELD_TIME(thing, at_ns)},
	{RECORD_AT(thing, skew_ns), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_REAL(thing, share), .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_BOOL(thing, done)},
	{RECORD_FIELD_TEXT(thing, reason), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_WORD(thing, colour, colours)},
	{RECORD_AT(thing, extra), .type = RECORD_JSON, .null = RECORD_NULL_POINTER},
	{RECORD_AT(thing, point), .type = RECORD_STRUCT, .of = &point_record},
	{RECORD_FIELD_NUMBERS(thing, nodes, count), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_ARRAY(thing, vms, count, vm_record), .longest = 3},
	{RECORD_FIELD_LIST(thing, past, vm_record), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{NULL},
};
static const struct record thing_record = {
	.name = "thing", .size = sizeof(struct thing), .fields = thing_fields, .free = thing_free};

static void vm_free(void *vm)
{
	record_free(&vm_record, vm);
}

static void thing_free(void *thing)
{
	record_free(&thing_record, thing);
}

#define WHOLE                                                                                      \
	"{\"at_ns\":5,\"colour\":\"blue\",\"done\":true,\"extra\":[1,{}],\"n\":7,\"nodes\":[4,5],"    \
	"\"past\":[{\"host\":\"b\",\"node\":9,\"save_ns\":null}],\"point\":{\"x\":0.5,\"y\":null},"     \
	"\"reason\":\"why\",\"share\":0.25,\"skew_ns\":3,"                                               \
	"\"vms\":[{\"host\":null,\"node\":1,\"save_ns\":2},{\"host\":\"a\",\"node\":3,\"save_ns\":null}]}"

static struct thing *read_thing(const char *text, GError **error)
{
	g_autoptr(json_t) object = json_parse(text, strlen(text), "test", NULL);
	struct thing *thing = record_new(&thing_record);

	g_assert_nonnull(object);
	if (record_from_json(&thing_record, object, thing, error))
		return thing;
	thing_free(thing);
	return NULL;
}

static void test_both_ways(void)
{
	g_autoptr(GError) error = NULL;
	struct thing *thing = read_thing(WHOLE, &error);
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;

	g_assert_no_error(error);
	g_assert_cmpuint(thing->count, ==, 2);
	g_assert_cmpuint(thing->nodes[1], ==, 5);
	g_assert_cmpint(thing->vms[1].save_ns, ==, -1);
	g_assert_cmpstr(thing->vms[1].host, ==, "a");
	g_assert_cmpint(thing->colour, ==, BLUE);
	g_assert_true(isnan(thing->point.y));
	g_assert_cmpuint(thing->past->len, ==, 1);
	object = record_to_json(&thing_record, thing);
	text = json_text(object);
	g_assert_cmpstr(text, ==, WHOLE);
	thing_free(thing);
}

static void test_nulls(void)
{
	g_autoptr(GError) error = NULL;
	struct thing *thing = read_thing(
		"{\"n\":1,\"at_ns\":null,\"done\":false,\"colour\":\"red\",\"extra\":null,"
		"\"point\":{\"x\":0,\"y\":1},\"nodes\":null,\"vms\":[]}",
		&error);
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;

	g_assert_no_error(error);
	g_assert_cmpint(thing->skew_ns, ==, -1);
	g_assert_true(isnan(thing->share));
	g_assert_null(thing->nodes);
	g_assert_null(thing->past);
	object = record_to_json(&thing_record, thing);
	text = json_text(object);
	g_assert_cmpstr(text, ==,
			"{\"at_ns\":null,\"colour\":\"red\",\"done\":false,\"extra\":null,\"n\":1,"
			"\"nodes\":null,\"past\":null,\"point\":{\"x\":0.0,\"y\":1.0},"
			"\"share\":null,\"skew_ns\":null,\"vms\":[]}");
	thing_free(thing);
}

/* Each replaces a part of WHOLE. */
static const struct {
	const char *part, *by, *message;
} wrongs[] = {
	{"\"n\":7", "\"n\":0", "thing: key \"n\": 0 is outside 1..100000"},
	{"\"n\":7", "\"n\":7.5", "thing: key \"n\": expected an integer, got a number"},
	{"\"n\":7,", "", "thing: key \"n\" is missing"},
	{"\"n\":7", "\"n\":null", "thing: key \"n\": expected an integer, got null"},
	{"\"n\":7", "\"n\":7,\"m\":1",
	 "thing: unknown key \"m\"; it takes n, at_ns, skew_ns, share, done, reason, colour, extra, "
	 "point, nodes, vms, past"},
	{"\"at_ns\":5", "\"at_ns\":-1",
	 "thing: key \"at_ns\": -1 is outside 0..9223372036854775807"},
	{"\"done\":true", "\"done\":1", "thing: key \"done\": expected a boolean"},
	{"\"blue\"", "\"pink\"", "thing: key \"colour\": 'pink' is none of red, green, blue"},
	{"\"x\":0.5", "\"x\":1.5", "point: key \"x\": 1.5 is outside -1..1"},
	{"[4,5]", "[4,-5]", "thing: key \"nodes\": entry 1 is no integer in 0..4294967295"},
	{"[4,5]", "[4,5,6]", "thing: key \"vms\": 2 entries, but \"nodes\" has 3"},
	{"\"node\":3", "\"node\":\"3\"", "VM: key \"node\": expected an integer, got a string"},
	{"\"vms\":[", "\"vms\":[1,2,3,", "thing: key \"vms\": more than 3 entries"},
	{"\"vms\":[{", "\"vms\":[7,{", "thing: key \"vms\": 3 entries, but \"nodes\" has 2"},
	{"\"past\":[", "\"past\":[7,", "VM: expected an object"},
	{"\"why\"", "7", "thing: key \"reason\": expected a string, got an integer"},
};

static void test_wrong(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
		g_auto(GStrv) parts = g_strsplit(WHOLE, wrongs[i].part, 2);
		g_autofree char *text = g_strjoinv(wrongs[i].by, parts);
		g_autoptr(GError) error = NULL;

		g_assert_nonnull(parts[1]);
		g_assert_null(read_thing(text, &error));
		g_assert_error(error, JSON_ERROR, JSON_ERROR_KEY);
		g_assert_cmpstr(error->message, ==, wrongs[i].message);
	}
}

/* A random structure; NULLs and values that stand for null come as well. */
static struct thing *random_thing(GRand *rand)
{
	struct thing *thing = record_new(&thing_record);

	thing->n = (uint32_t)g_rand_int_range(rand, 1, 100000);
	thing->at_ns = g_rand_boolean(rand) ? g_rand_int(rand) : 0;
	thing->skew_ns = g_rand_int_range(rand, -1, 5);
	thing->share = g_rand_boolean(rand) ? g_rand_double(rand) : (double)NAN;
	thing->done = g_rand_boolean(rand);
	thing->reason = g_rand_boolean(rand) ? g_strdup_printf("r%u", g_rand_int(rand)) : NULL;
	thing->colour = (enum colour)g_rand_int_range(rand, 0, 3);
	thing->extra = g_rand_boolean(rand) ? json_integer(g_rand_int(rand)) : NULL;
	thing->point.x = g_rand_double_range(rand, -1, 1);
	thing->count = (uint32_t)g_rand_int_range(rand, 0, 4);
	thing->nodes = g_rand_boolean(rand) ? g_new0(uint32_t, thing->count + 1) : NULL;
	thing->vms = g_new0(struct vm, thing->count + 1);
	for (uint32_t i = 0; i < thing->count; i++) {
		if (thing->nodes)
			thing->nodes[i] = g_rand_int(rand);
		thing->vms[i].node = g_rand_int(rand);
		thing->vms[i].host = g_rand_boolean(rand) ? g_strdup("h") : NULL;
	}
	thing->past = g_rand_boolean(rand) ? record_list_new(&vm_record) : NULL;
	for (int i = g_rand_int_range(rand, 0, 3); thing->past && i > 0; i--)
		g_ptr_array_add(thing->past, record_copy(&vm_record, &(struct vm){.node = 3, .host = (char *)"x"}));
	return thing;
}

static void test_random(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);

	for (int i = 0; i < 1000; i++) {
		struct thing *thing = random_thing(rand);
		struct thing *copy = record_copy(&thing_record, thing);
		struct thing *again = record_new(&thing_record);
		g_autoptr(json_t) object = record_to_json(&thing_record, thing);
		g_autoptr(GError) error = NULL;

		g_assert_true(record_equal(&thing_record, thing, copy));
		g_assert_true(record_from_json(&thing_record, object, again, &error));
		g_assert_no_error(error);
		g_assert_true(record_equal(&thing_record, thing, again));
		again->point.y = 3;
		g_assert_false(record_equal(&thing_record, thing, again));
		if (copy->count) {
			copy->vms[0].node++;
			g_assert_false(record_equal(&thing_record, thing, copy));
		}
		thing_free(thing);
		thing_free(copy);
		thing_free(again);
	}
}

static void test_open(void)
{
	struct record open = point_record;
	g_autoptr(json_t) object = json_pack("{s:f, s:f, s:i}", "x", 0.5, "y", 2.0, "z", 3);
	struct point point;

	record_init(&open, &point);
	g_assert_false(record_from_json(&open, object, &point, NULL));
	open.open = true;
	g_assert_true(record_from_json(&open, object, &point, NULL));
	g_assert_cmpfloat(point.y, ==, 2.0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/both-ways", test_both_ways);
	g_test_add_func("/record/nulls", test_nulls);
	g_test_add_func("/record/wrong", test_wrong);
	g_test_add_func("/record/random", test_random);
	g_test_add_func("/record/open", test_open);
	return g_test_run();
}
