/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What clients of a controller expect, held against the description of its API. */
#include <glib.h>

#include "common/json.h"
#include "controller/run/run_api.h"

static json_t *read_description(void)
{
	g_autofree char *path = g_build_filename(g_getenv("G_TEST_SRCDIR"), "docs", "reference",
						 "controller-api.json", NULL);
	g_autofree char *text = NULL;
	gsize length;
	g_autoptr(GError) error = NULL;
	json_t *document;

	g_file_get_contents(path, &text, &length, &error);
	g_assert_no_error(error);
	document = json_parse(text, length, path, &error);
	g_assert_no_error(error);
	return document;
}

static const json_t *resolve(const json_t *document, const json_t *schema)
{
	const char *reference = json_string_value(json_object_get(schema, "$ref"));
	const json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");

	return reference ? json_object_get(schemas, strrchr(reference, '/') + 1) : schema;
}

static json_t *least(const json_t *document, const json_t *schema);

/* An object with what it must have alone. */
static json_t *least_object(const json_t *document, const json_t *schema)
{
	json_t *object = json_object();
	const json_t *key;
	size_t i;

	json_array_foreach (json_object_get(schema, "required"), i, key) {
		const char *name = json_string_value(key);
		const json_t *properties = json_object_get(schema, "properties");

		json_object_set_new(object, name,
				    least(document, json_object_get(properties, name)));
	}
	return object;
}

/* The poorest document that a schema allows: null where it may be, one entry in each list. */
static json_t *least(const json_t *document, const json_t *schema)
{
	const char *type;

	schema = resolve(document, schema);
	if (json_is_true(json_object_get(schema, "nullable")))
		return json_null();
	if (json_object_get(schema, "allOf"))
		return least(document, json_array_get(json_object_get(schema, "allOf"), 0));
	type = json_string_value(json_object_get(schema, "type"));
	if (g_strcmp0(type, "object") == 0)
		return least_object(document, schema);
	if (g_strcmp0(type, "array") == 0)
		return json_pack("[o]", least(document, json_object_get(schema, "items")));
	if (g_strcmp0(type, "string") == 0)
		return json_string("x");
	if (g_strcmp0(type, "boolean") == 0)
		return json_true();
	return g_strcmp0(type, "integer") == 0 ? json_integer(1) : json_real(1.5);
}

static void test_all_that_is_described_is_taken(void)
{
	g_autoptr(json_t) document = read_description();

	for (const struct http_operation *at = run_api; at->method; at++) {
		g_autofree char *method = g_ascii_strdown(at->method, -1);
		g_autofree char *status = g_strdup_printf("%d", at->status);
		const json_t *path = json_object_get(json_object_get(document, "paths"), at->path);
		const json_t *answers = json_object_get(json_object_get(path, method), "responses");
		const json_t *content =
			json_object_get(json_object_get(answers, status), "content");
		const json_t *schema =
			json_object_get(json_object_get(content, "application/json"), "schema");
		g_autoptr(json_t) answer = schema ? least(document, schema) : NULL;
		g_autoptr(GError) error = NULL;

		g_test_message("%s %s", at->method, at->path);
		g_assert_nonnull(schema);
		json_shape_check(at->shape, answer, &error);
		g_assert_no_error(error);
		g_assert_cmpint(at->other_status, ==, 0);
	}
}

static void test_operations_are_found(void)
{
	static const struct {
		const char *method, *path;
		const char *found; /* NULL: nothing */
	} cases[] = {
		{"GET", "/v1/tasks", "/v1/tasks"},
		{"GET", "/v1/tasks?state=waiting&after=/3", "/v1/tasks"},
		{"POST", "/v1/tasks/7/hold", "/v1/tasks/{task}/hold"},
		{"GET", "/v1/tasks/7/output?from=1", "/v1/tasks/{task}/output"},
		{"POST", "/v1/nodes/c%2F1/0/drain", "/v1/nodes/{cluster}/{node}/drain"},
		{"GET", "/v1/tasks/7/hold", NULL},
		{"GET", "/v1/task", NULL},
		{"GET", "/v1/tasks/7/output/", NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct http_operation *found =
			http_operation_find(run_api, cases[i].method, cases[i].path);

		g_assert_cmpstr(found ? found->path : NULL, ==, cases[i].found);
	}
	g_assert_null(http_operation_find(NULL, "GET", "/v1/tasks"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run-api/described", test_all_that_is_described_is_taken);
	g_test_add_func("/run-api/found", test_operations_are_found);
	return g_test_run();
}
