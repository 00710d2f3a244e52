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
static const struct record vm_record = {.name = "VM",
					.size = sizeof(struct vm),
					.fields = vm_fields,
					.free = vm_free};

static const struct record_field point_fields[] = {
	{RECORD_AT(point, x), .type = RECORD_REAL, .min = -1, .max = 1},
	{RECORD_FIELD_REAL(point, y)},
	{NULL},
};
static const struct record point_record = {.name = "point",
					   .size = sizeof(struct point),
					   .fields = point_fields};

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
static const struct record thing_record = {.name = "thing",
					   .size = sizeof(struct thing),
					   .fields = thing_fields,
					   .free = thing_free};

static void vm_free(void *vm)
{
	record_free(&vm_record, vm);
}

static void thing_free(void *thing)
{
	record_free(&thing_record, thing);
}

#define WHOLE                                                                                       \
	"{\"at_ns\":5,\"colour\":\"blue\",\"done\":true,\"extra\":[1,{}],\"n\":7,\"nodes\":[4,5],"  \
	"\"past\":[{\"host\":\"b\",\"node\":9,\"save_ns\":null}],\"point\":{\"x\":0.5,\"y\":null}," \
	"\"reason\":\"why\",\"share\":0.25,\"skew_ns\":3,"                                          \
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
		g_ptr_array_add(thing->past,
				record_copy(&vm_record,
					    &(struct vm){.node = 3, .host = (char *)"x"}));
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

struct poem {
	char **lines;
};

static const struct record_field poem_fields[] = {
	{RECORD_AT(poem, lines), .type = RECORD_TEXTS, .null = RECORD_NULL_POINTER},
	{NULL},
};
static const struct record poem_record = {.name = "poem",
					  .size = sizeof(struct poem),
					  .fields = poem_fields};

static void test_texts(void)
{
	static const struct {
		const char *text, *message; /* NULL: it is good, and written as it was read */
	} cases[] = {
		{"{\"lines\":[\"a\",\"\"]}", NULL},
		{"{\"lines\":[]}", NULL},
		{"{\"lines\":null}", NULL},
		{"{\"lines\":[\"a\",1]}", "poem: lines: not a list of texts"},
		{"{\"lines\":{}}", "poem: key \"lines\": expected an array, got an object"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) object =
			json_parse(cases[i].text, strlen(cases[i].text), "test", NULL);
		struct poem *poem = record_new(&poem_record);
		struct poem *copy = NULL;
		g_autoptr(GError) error = NULL;

		if (cases[i].message) {
			g_assert_false(record_from_json(&poem_record, object, poem, &error));
			g_assert_cmpstr(error->message, ==, cases[i].message);
			g_assert_null(poem->lines);
		} else {
			g_autoptr(json_t) written = NULL;
			g_autofree char *text = NULL;

			g_assert_true(record_from_json(&poem_record, object, poem, &error));
			copy = record_copy(&poem_record, poem);
			g_assert_true(record_equal(&poem_record, poem, copy));
			written = record_to_json(&poem_record, copy);
			text = json_text(written);
			g_assert_cmpstr(text, ==, cases[i].text);
			if (poem->lines && poem->lines[0]) {
				*copy->lines[0] = 'b';
				g_assert_false(record_equal(&poem_record, poem, copy));
			}
		}
		record_free(&poem_record, poem);
		record_free(&poem_record, copy);
	}
}

/* A document: its structures have no names, its keys depend on the variant. */
struct leaf {
	uint32_t n;
	const char *name;
};

struct tree {
	double limit;
	int32_t height;
	bool dead;
	uint32_t rings_count;
	double *rings;
	uint32_t leaves_count;
	struct leaf leaves[2];
	uint32_t fruit;
	uint32_t nuts;
	uint32_t unit; /* its text is in the context */
	uint32_t sum;  /* of the leaves, by the check */
};

enum { PINE = 1, APPLE = 2 };

static json_t *write_unit(const struct record_field *field, const void *data, const void *context)
{
	const char *const *units = context;

	return json_string(units[*(const uint32_t *)record_place(field, data)]);
}

static bool read_unit(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	const char *const *units = reading->context;
	const int unit = record_word_find(units, json_string_value(value));

	*(uint32_t *)record_place(field, data) = (uint32_t)unit;
	return unit >= 0 || record_refuse(reading, "\"%s\" is no unit", field->name);
}

static bool check_leaf(const struct record_reading *reading, void *data)
{
	const struct leaf *leaf = data;

	return leaf->n != 13 || record_refuse(reading, "13 is no number of a leaf");
}

static bool check_tree(const struct record_reading *reading, void *data)
{
	struct tree *tree = data;

	for (uint32_t i = 0; i < tree->leaves_count; i++)
		tree->sum += tree->leaves[i].n;
	return tree->sum < 1000 || record_refuse(reading, "too many: %u", tree->sum);
}

static const struct record_field leaf_fields[] = {
	{RECORD_FIELD_U32(leaf, n)},
	{RECORD_AT(leaf, name), .type = RECORD_BORROWED},
	{NULL},
};
static const struct record leaf_record = {.size = sizeof(struct leaf),
					  .fields = leaf_fields,
					  .check = check_leaf};

static const struct record_field crop_fields[] = {
	{RECORD_FIELD_U32(tree, fruit), .variants = APPLE},
	{RECORD_FIELD_U32(tree, nuts), .variants = PINE},
	{NULL},
};
static const struct record crop_record = {.fields = crop_fields};

static const struct record_field tree_fields[] = {
	{RECORD_AT(tree, limit), .type = RECORD_REAL, .null = RECORD_NULL_INFINITY},
	{RECORD_AT(tree, height), .type = RECORD_I32, .min = -5, .max = 5,
	 .flags = RECORD_OPTIONAL | RECORD_OMIT_ZERO},
	{RECORD_FIELD_BOOL(tree, dead), .flags = RECORD_OPTIONAL | RECORD_OMIT_ZERO},
	{RECORD_AT(tree, rings), .type = RECORD_REALS,
	 .count_offset = offsetof(struct tree, rings_count), .min = 0, .max = 1,
	 .flags = RECORD_OPTIONAL | RECORD_OMIT_ZERO},
	{RECORD_FIELD_ARRAY(tree, leaves, leaves_count, leaf_record), .flags = RECORD_EMBEDDED,
	 .longest = 2},
	{.name = "crop", .type = RECORD_STRUCT, .of = &crop_record},
	{RECORD_FIELD_U32(tree, unit), .read = read_unit, .write = write_unit, .variants = APPLE},
	{NULL},
};
static const struct record tree_record = {.size = sizeof(struct tree),
					  .fields = tree_fields,
					  .check = check_tree};

static const char *const units[] = {"basket", "box", NULL};

#define TREE                                                                                       \
	"{\"crop\":{\"fruit\":3},\"leaves\":[{\"n\":4,\"name\":\"a\"},{\"n\":5,\"name\":\"b\"}],"  \
	"\"limit\":null,\"rings\":[0.5,1.0],\"unit\":\"box\"}"

static bool read_tree(const json_t *object, unsigned variant, struct tree *tree, GError **error)
{
	record_init(&tree_record, tree);
	return record_read(&tree_record, object, tree, variant, (void *)units, error);
}

static void test_document(void)
{
	g_autoptr(json_t) object = json_parse(TREE, strlen(TREE), "test", NULL);
	g_autoptr(json_t) again = NULL;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	struct tree tree, copy;

	g_assert_true(read_tree(object, APPLE, &tree, &error));
	g_assert_no_error(error);
	g_assert_true(isinf(tree.limit));
	g_assert_cmpuint(tree.sum, ==, 9);
	g_assert_cmpuint(tree.unit, ==, 1);
	g_assert_cmpstr(tree.leaves[1].name, ==, "b");
	record_copy_to(&tree_record, &tree, &copy);
	g_assert_true(record_equal(&tree_record, &tree, &copy));
	copy.leaves[1].n++;
	g_assert_false(record_equal(&tree_record, &tree, &copy));
	again = record_write(&tree_record, &tree, APPLE, units);
	text = json_text(again);
	g_assert_cmpstr(text, ==, TREE);
	record_clear(&tree_record, &tree);
	record_clear(&tree_record, &copy);
	g_assert_false(read_tree(object, PINE, &tree, NULL));
}

/* Each replaces a part of TREE. */
static const struct {
	const char *part, *by, *message;
} wrong_trees[] = {
	{"\"n\":5", "\"n\":-5", "leaves[1]: key \"n\": -5 is outside 0..4294967295"},
	{"\"n\":5", "\"n\":13", "leaves[1]: 13 is no number of a leaf"},
	{"\"n\":5", "\"n\":5,\"m\":1", "leaves[1]: unknown key \"m\"; known: n name"},
	{"\"n\":5", "\"n\":1000", "too many: 1004"},
	{"\"name\":\"b\"", "\"name\":7",
	 "leaves[1]: key \"name\": expected a string, got an integer"},
	{"\"leaves\":[", "\"leaves\":[{},", "key \"leaves\": more than 2 entries"},
	{"\"leaves\":[", "\"leaf\":[",
	 "unknown key \"leaf\"; known: limit height dead rings leaves crop unit"},
	{"\"fruit\":3", "\"nuts\":3", "crop: unknown key \"nuts\"; known: fruit"},
	{"{\"fruit\":3}", "7", "crop: expected an object"},
	{"\"limit\":null,", "", "key \"limit\" is missing"},
	{"\"limit\":null", "\"limit\":1,\"height\":6", "key \"height\": 6 is outside -5..5"},
	{"0.5", "1.5", "key \"rings\": 1.5 is given; numbers are from 0 to 1"},
	{"0.5", "\"x\"", "key \"rings\": expected numbers, got a string"},
	{"[0.5,1.0]", "null", "key \"rings\": expected an array, got null"},
	{"box", "bag", "\"unit\" is no unit"},
};

static void test_wrong_document(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(wrong_trees); i++) {
		g_auto(GStrv) parts = g_strsplit(TREE, wrong_trees[i].part, 2);
		g_autofree char *text = g_strjoinv(wrong_trees[i].by, parts);
		g_autoptr(json_t) object = json_parse(text, strlen(text), "test", NULL);
		g_autoptr(GError) error = NULL;
		struct tree tree;

		g_assert_nonnull(parts[1]);
		g_assert_false(read_tree(object, APPLE, &tree, &error));
		g_assert_error(error, JSON_ERROR, JSON_ERROR_KEY);
		g_assert_cmpstr(error->message, ==, wrong_trees[i].message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/both-ways", test_both_ways);
	g_test_add_func("/record/nulls", test_nulls);
	g_test_add_func("/record/wrong", test_wrong);
	g_test_add_func("/record/random", test_random);
	g_test_add_func("/record/open", test_open);
	g_test_add_func("/record/texts", test_texts);
	g_test_add_func("/record/document", test_document);
	g_test_add_func("/record/wrong-document", test_wrong_document);
	return g_test_run();
}
