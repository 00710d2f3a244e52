/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controller's API beside its document, and what it serves to browsers and to Prometheus. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/http_server.h"
#include "common/json.h"
#include "controller/api/metrics_text.h"
#include "controller/api/page_api.h"
#include "controller/api/status_api.h"

static json_t *read_document(void)
{
	g_autoptr(GBytes) bytes = page_api_file("controller-api.json");
	g_autoptr(GError) error = NULL;
	gsize length;
	const char *text = g_bytes_get_data(bytes, &length);
	json_t *document = json_parse(text, length, "docs/reference/controller-api.json", &error);

	g_assert_no_error(error);
	return document;
}

/* Whether a path of the document, with names in braces, is that of a route, with stars. */
static bool is_same_path(const char *documented, const char *routed)
{
	g_auto(GStrv) one = g_strsplit(documented, "/", -1);
	g_auto(GStrv) other = g_strsplit(routed, "/", -1);

	if (g_strv_length(one) != g_strv_length(other))
		return false;
	for (gsize i = 0; one[i]; i++)
		if (g_str_equal(other[i], "*") ? *one[i] != '{' : !g_str_equal(one[i], other[i]))
			return false;
	return true;
}

/* The operation of a route, or NULL. */
static json_t *documented(json_t *paths, const struct http_route *route)
{
	g_autofree char *method = g_ascii_strdown(route->method, -1);
	const char *path;
	json_t *item;

	json_object_foreach (paths, path, item)
		if (is_same_path(path, route->path) && json_object_get(item, method))
			return json_object_get(item, method);
	return NULL;
}

static void every_route_is_documented(void)
{
	g_autoptr(json_t) document = read_document();
	json_t *paths = json_object_get(document, "paths");

	for (const struct http_route *route = status_api_routes(); route->method; route++) {
		g_test_message("%s %s", route->method, route->path);
		g_assert_nonnull(documented(paths, route));
	}
}

/* A body that the document does not describe is refused, not left unread. */
static void every_route_says_whether_it_takes_a_body(void)
{
	g_autoptr(json_t) document = read_document();
	json_t *paths = json_object_get(document, "paths");

	for (const struct http_route *route = status_api_routes(); route->method; route++) {
		const json_t *body = json_object_get(documented(paths, route), "requestBody");

		g_test_message("%s %s", route->method, route->path);
		g_assert_true(route->takes_body == (body != NULL));
	}
}

/* What the guards ask for is what people are told. */
static void every_route_says_its_role(void)
{
	static const char *const names[] = {
		[HTTP_ROLE_ANYBODY] = "anybody",
		[HTTP_ROLE_VIEWER] = "viewer",
		[HTTP_ROLE_USER] = "user",
		[HTTP_ROLE_OPERATOR] = "operator",
	};
	g_autoptr(json_t) document = read_document();
	json_t *paths = json_object_get(document, "paths");

	for (const struct http_route *route = status_api_routes(); route->method; route++) {
		json_t *operation = documented(paths, route);
		json_t *security = json_object_get(operation, "security");

		g_test_message("%s %s", route->method, route->path);
		g_assert_cmpint(route->role, !=, HTTP_ROLE_NONE);
		g_assert_cmpstr(json_string_value(json_object_get(operation, "x-role")), ==,
				names[route->role]);
		g_assert_true(json_is_array(security));
		g_assert_cmpint(json_array_size(security), ==, route->role > HTTP_ROLE_ANYBODY);
	}
}

static int compare_words(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The parameters of a query, sorted, with a space between two. */
static char *sorted_words(const char *words)
{
	g_auto(GStrv) all = g_strsplit(words ?: "", " ", -1);

	qsort(all, g_strv_length(all), sizeof(*all), compare_words);
	return g_strjoinv(" ", all);
}

static void every_route_knows_its_parameters(void)
{
	g_autoptr(json_t) document = read_document();
	json_t *paths = json_object_get(document, "paths");

	for (const struct http_route *route = status_api_routes(); route->method; route++) {
		g_autoptr(GString) told = g_string_new(NULL);
		g_autofree char *known = sorted_words(route->query);
		g_autofree char *described = NULL;
		json_t *parameter;
		size_t i;

		json_array_foreach (json_object_get(documented(paths, route), "parameters"), i,
				    parameter)
			if (g_str_equal(json_string_value(json_object_get(parameter, "in")),
					"query"))
				g_string_append_printf(told, "%s%s", told->len ? " " : "",
						       json_string_value(
							       json_object_get(parameter, "name")));
		described = sorted_words(told->str);
		g_test_message("%s %s", route->method, route->path);
		g_assert_cmpstr(known, ==, described);
	}
}

/* What a server answers by itself, whatever it is asked for. */
static void every_route_may_be_refused(void)
{
	static const char *const statuses[] = {"400", "403", "413", "429", "501", "503"};
	g_autoptr(json_t) document = read_document();
	json_t *paths = json_object_get(document, "paths");

	for (const struct http_route *route = status_api_routes(); route->method; route++)
		for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++) {
			g_test_message("%s %s: %s", route->method, route->path, statuses[i]);
			g_assert_nonnull(json_object_get(json_object_get(documented(paths, route),
									 "responses"),
							 statuses[i]));
		}
}

/* What names a task is its owner's. */
static void every_route_of_a_task_keeps_others_out(void)
{
	for (const struct http_route *route = status_api_routes(); route->method; route++) {
		g_test_message("%s %s", route->method, route->path);
		g_assert_cmpint(route->keep_out != NULL, ==,
				g_str_has_prefix(route->path, "/v1/tasks/"));
	}
}

static bool is_routed(const char *method, const char *path)
{
	g_autofree char *upper = g_ascii_strup(method, -1);

	for (const struct http_route *route = status_api_routes(); route->method; route++)
		if (g_str_equal(route->method, upper) && is_same_path(path, route->path))
			return true;
	return false;
}

static void every_documented_request_has_a_route(void)
{
	g_autoptr(json_t) document = read_document();
	const char *path;
	json_t *item;

	json_object_foreach (json_object_get(document, "paths"), path, item) {
		const char *method;
		json_t *operation;

		json_object_foreach (item, method, operation) {
			g_test_message("%s %s", method, path);
			g_assert_true(is_routed(method, path));
		}
	}
}

/* Every {"$ref": ...} under `value` names a component of the document. */
static void check_references(json_t *value, json_t *components)
{
	const char *prefix = "#/components/";
	const char *name = json_string_value(json_object_get(value, "$ref"));
	const char *key;
	json_t *child;
	size_t i;

	if (name) {
		g_auto(GStrv) words = NULL;

		g_assert_true(g_str_has_prefix(name, prefix));
		words = g_strsplit(name + strlen(prefix), "/", 2);
		g_assert_nonnull(json_object_get(json_object_get(components, words[0]), words[1]));
	}
	json_object_foreach (value, key, child)
		check_references(child, components);
	json_array_foreach (value, i, child)
		check_references(child, components);
}

static void the_document_is_whole(void)
{
	g_autoptr(json_t) document = read_document();
	g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
	const char *path;
	json_t *item;

	g_assert_cmpstr(json_string_value(json_object_get(document, "openapi")), ==, "3.0.3");
	check_references(document, json_object_get(document, "components"));
	json_object_foreach (json_object_get(document, "paths"), path, item) {
		const char *method;
		json_t *operation;

		json_object_foreach (item, method, operation) {
			const char *id =
				json_string_value(json_object_get(operation, "operationId"));

			g_test_message("%s %s", method, path);
			g_assert_nonnull(id);
			g_assert_true(g_hash_table_add(ids, (char *)id));
			g_assert_cmpint(json_object_size(json_object_get(operation, "responses")),
					>, 0);
			/* A parameter for each name in braces. */
			for (const char *at = path; (at = strchr(at, '{')); at++)
				g_assert_nonnull(json_object_get(operation, "parameters"));
		}
	}
}

/* Works offline, and shows text as text, whatever is in it. */
static void the_page_loads_nothing_from_elsewhere(void)
{
	static const char *const files[] = {"index.html", "page.css", "page.js", "charts.js",
					    "icon.svg"};
	static const char *const banned[] = {"https://",           "innerHTML",      "outerHTML",
					     "insertAdjacentHTML", "document.write", "eval(",
					     "new Function",       "@import",        "url("};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autoptr(GBytes) bytes = page_api_file(files[i]);
		g_autofree char *text = NULL;

		g_assert_nonnull(bytes);
		text = g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
		for (gsize k = 0; k < G_N_ELEMENTS(banned); k++) {
			g_test_message("%s: %s", files[i], banned[k]);
			g_assert_null(strstr(text, banned[k]));
		}
		for (const char *at = text; (at = strstr(at, "http://")); at++)
			g_assert_true(g_str_has_prefix(at, "http://www.w3.org/2000/svg"));
	}
	g_assert_null(page_api_file("nothing"));
}

static void metrics_are_written_as_prometheus_reads_them(void)
{
	g_autoptr(GString) text = g_string_new(NULL);

	metrics_text_family(text, "x_joules_total", "counter", "What it is.");
	metrics_text_sample(text, "x_joules_total", 1.5, NULL);
	metrics_text_sample(text, "x_joules_total", 1e21, "host", "b\"1\\2\n3", "cluster", "ä",
			    NULL);
	metrics_text_sample(text, "x_joules_total", (double)NAN, "host", "unknown", NULL);
	metrics_text_sample(text, "x_joules_total", (double)-INFINITY, "host", "\xff", NULL);
	g_assert_cmpstr(text->str, ==,
			"# HELP x_joules_total What it is.\n"
			"# TYPE x_joules_total counter\n"
			"x_joules_total 1.5\n"
			"x_joules_total{host=\"b\\\"1\\\\2\\n3\",cluster=\"ä\"} 1e+21\n"
			"x_joules_total{host=\"\357\277\275\"} -Inf\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/api/document/has-every-route", every_route_is_documented);
	g_test_add_func("/api/document/has-every-role", every_route_says_its_role);
	g_test_add_func("/api/document/has-every-body", every_route_says_whether_it_takes_a_body);
	g_test_add_func("/api/document/has-every-parameter", every_route_knows_its_parameters);
	g_test_add_func("/api/document/has-every-refusal", every_route_may_be_refused);
	g_test_add_func("/api/routes/of-a-task", every_route_of_a_task_keeps_others_out);
	g_test_add_func("/api/document/has-no-other", every_documented_request_has_a_route);
	g_test_add_func("/api/document/whole", the_document_is_whole);
	g_test_add_func("/api/page/offline", the_page_loads_nothing_from_elsewhere);
	g_test_add_func("/api/metrics/text", metrics_are_written_as_prometheus_reads_them);
	return g_test_run();
}
