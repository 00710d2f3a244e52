/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The HTTP API over a scheduler whose host is libvirt's test driver: it takes no guest image, so no
 * node gets ready, and everything short of a VM is there.
 */
#include <gio/gio.h>
#include <libvirt-glib/libvirt-glib.h>
#include <string.h>
#include <unistd.h>

#include "common/http_client.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/subprocess.h"
#include "local-sched/api/api.h"
#include "local-sched/hypervisor/virt_error.h"

#define TIMEOUT_S 20

static const char config_text[] =
	"name: unit\n"
	"clusters:\n"
	"  - {name: c1, nodes: 3, cores: 2, memory_mib: 128, max_mhz: 1000, base_mhz: 2000,\n"
	"     hosts: [{name: h1, uri: 'test:///default'}]}\n"
	"types:\n"
	"  - {name: T, benchmark: is, class: S, cores: 2, memory_mib: 64, share: 1}\n"
	"workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}\n";

struct fixture {
	char *directory;
	struct config *config;
	struct image *image;
	struct task_store *store;
	struct scheduler *scheduler;
	struct api *api;
	struct http_client *client;
};

static void write_file(const char *directory, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autoptr(GError) error = NULL;

	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

/* An image of three files of one byte each. */
static void write_image(const char *directory)
{
	static const char *const names[] = {"vmlinuz", "initramfs", "root.squashfs"};
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "x", 1);
	GString *manifest = g_string_new("{\"files\": [");

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		write_file(directory, names[i], "x");
		g_string_append_printf(manifest,
				       "%s{\"name\": \"%s\", \"bytes\": 1, \"sha256\": \"%s\"}",
				       i ? ", " : "", names[i], sum);
	}
	g_string_append(manifest, "], \"packages\": [{\"name\": \"libmpich12\", "
				  "\"version\": \"4.0.2-3\"}]}");
	write_file(directory, "manifest.json", manifest->str);
	g_string_free(manifest, TRUE);
}

/*
 * A /sys of one CPU whose knobs take whatever is written to them and stay as they are: /dev/null
 * does. Returns the configuration that uses it.
 */
static char *write_deaf_vm(const char *directory)
{
	g_autofree char *cpu = g_build_filename(directory, "devices/system/cpu/cpu0/cpufreq", NULL);
	g_autofree char *knob = g_build_filename(cpu, "scaling_max_freq", NULL);
	g_auto(GStrv) parts = g_strsplit(config_text, "{name: h1,", 2);

	g_assert_cmpint(g_mkdir_with_parents(cpu, 0700), ==, 0);
	g_assert_cmpint(symlink("/dev/null", knob), ==, 0);
	return g_strdup_printf("%s{name: h1, sys_root: '%s',%s", parts[0], directory, parts[1]);
}

/* `data` not NULL: on a vm whose knobs do nothing. */
static void set_up(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_autofree char *config = NULL;
	g_autofree char *address = NULL;
	struct scheduler_settings settings = {.platform = &platform_machine, .boot_timeout_s = 10};

	fixture->directory = g_dir_make_tmp("virtbed-api-XXXXXX", &error);
	g_assert_no_error(error);
	text = data ? write_deaf_vm(fixture->directory) : g_strdup(config_text);
	write_file(fixture->directory, "config.yaml", text);
	write_image(fixture->directory);
	config = g_build_filename(fixture->directory, "config.yaml", NULL);
	address = g_strdup_printf("unix:%s/s", fixture->directory);
	fixture->config = config_load(config, &error);
	g_assert_no_error(error);
	fixture->image = image_load(fixture->directory, &error);
	g_assert_no_error(error);
	fixture->store = task_store_open(&platform_machine, fixture->directory, &error);
	g_assert_no_error(error);
	settings.config = fixture->config;
	settings.image = fixture->image;
	settings.store = fixture->store;
	settings.state_directory = fixture->directory;
	fixture->scheduler = scheduler_new(&settings, &error);
	g_assert_no_error(error);
	fixture->api = api_new(address, NULL, fixture->scheduler, &error);
	g_assert_no_error(error);
	fixture->client = http_client_new(&platform_machine, address, &error);
	g_assert_no_error(error);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	const char *const argv[] = {"rm", "-rf", fixture->directory, NULL};

	http_client_free(fixture->client);
	api_free(fixture->api);
	scheduler_free(fixture->scheduler);
	task_store_close(fixture->store);
	image_free(fixture->image);
	config_free(fixture->config);
	subprocess_run(argv, NULL, 10, NULL, NULL);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_free(fixture->directory);
}

static json_t *get(struct fixture *fixture, const char *path)
{
	g_autoptr(GError) error = NULL;
	json_t *body = http_client_call(fixture->client, "GET", path, NULL, TIMEOUT_S, &error);

	g_assert_no_error(error);
	g_assert_true(json_is_integer(json_object_get(body, "now_ns")));
	return body;
}

static void test_capabilities(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) body = get(fixture, "/v1/capabilities");

	g_assert_cmpstr(json_string_value(json_object_get(body, "cluster")), ==, "c1");
	g_assert_cmpstr(json_string_value(json_object_get(body, "cpu_cap")), ==, "quota");
	g_assert_cmpfloat(json_number_value(json_object_get(body, "cpu_cap_fraction")), ==, 0.5);
	g_assert_cmpstr(json_string_value(json_object_get(body, "meter")), ==, "none");
	g_assert_true(json_is_false(json_object_get(body, "ready")));
	g_assert_true(json_is_false(json_object_get(body, "modelled_watts")));
	g_assert_cmpfloat(json_number_value(json_object_get(body, "meter_mean_s")), ==, 0);
}

static void test_nodes(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) body = get(fixture, "/v1/nodes");
	json_t *nodes = json_object_get(body, "nodes");
	json_t *last = json_array_get(nodes, 2);

	g_assert_cmpuint(json_array_size(nodes), ==, 3);
	g_assert_cmpstr(json_string_value(json_object_get(last, "name")), ==, "c1-n2");
	g_assert_cmpstr(json_string_value(json_object_get(last, "host")), ==, "h1");
	g_assert_cmpstr(json_string_value(json_object_get(last, "state")), ==, "down");
	g_assert_true(json_is_string(json_object_get(last, "reason")));
}

/* The row `index` of what caps node 0, borrowed from `nodes`. */
static const char *cap_column(const json_t *nodes, size_t index, const char *key)
{
	const json_t *node = json_array_get(json_object_get(nodes, "nodes"), 0);
	const json_t *row = json_array_get(json_object_get(node, "caps"), index);

	return json_string_value(json_object_get(row, key));
}

static void test_quota(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) capabilities = get(fixture, "/v1/capabilities");
	g_autoptr(json_t) nodes = get(fixture, "/v1/nodes");

	g_assert_cmpstr(json_string_value(json_object_get(capabilities, "caps_effective")), ==,
			"yes");
	g_assert_cmpstr(cap_column(nodes, 0, "requested"), ==, "1000 MHz");
	g_assert_cmpstr(cap_column(nodes, 0, "set"), ==, "quota 101000 of 101000 us");
	g_assert_null(cap_column(nodes, 0, "read_back")); /* no VM is there to have it */
	g_assert_cmpstr(cap_column(nodes, 0, "effective"), ==, "emulated");
}

static void test_deaf_vm(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) capabilities = get(fixture, "/v1/capabilities");
	g_autoptr(json_t) nodes = get(fixture, "/v1/nodes");

	g_assert_cmpstr(json_string_value(json_object_get(capabilities, "cpu_cap")), ==, "cpufreq");
	g_assert_cmpstr(json_string_value(json_object_get(capabilities, "caps_effective")), ==,
			"no");
	g_assert_cmpstr(cap_column(nodes, 0, "knob"), ==, "frequency");
	g_assert_cmpstr(cap_column(nodes, 0, "requested"), ==, "1000 MHz");
	g_assert_cmpstr(cap_column(nodes, 0, "set"), ==, "1000 MHz");
	g_assert_cmpstr(cap_column(nodes, 0, "effective"), ==, "no");
	g_assert_nonnull(strstr(cap_column(nodes, 0, "reason"), "reads back"));
}

/* Requests and the status that refuses them. */
static const struct {
	const char *method;
	const char *path;
	const char *body;
	int status;
} refused[] = {
	{"PUT", "/v1/tasks/a",
	 "{\"type\":\"T\",\"benchmark\":\"is\",\"class\":\"S\",\"ranks\":2,\"repetitions\":1,"
	 "\"nodes\":[0],\"deadline_s\":5}",
	 409},
	{"PUT", "/v1/tasks/a", "{}", 400},
	{"PUT", "/v1/tasks/a", "[]", 400},
	{"PUT", "/v1/tasks/a", NULL, 400},
	{"PUT", "/v1/tasks/.a", "{}", 400},
	{"GET", "/v1/tasks/a", NULL, 404},
	{"DELETE", "/v1/tasks/a", NULL, 404},
	{"GET", "/v1/events?after=x", NULL, 400},
	{"GET", "/v1/events?wait_s=61", NULL, 400},
	{"GET", "/v1/samples?after=-5", NULL, 400},
	{"POST", "/v1/nodes", "{}", 405},
	{"GET", "/v2/nodes", NULL, 404},
};

static void check_status(int status, json_t *body, const GError *error, void *data)
{
	*(int *)data = status;
}

static void test_refused(struct fixture *fixture, gconstpointer data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
		g_autoptr(json_t) body =
			refused[i].body ? json_loads(refused[i].body, 0, NULL) : NULL;
		int status = 0;

		g_test_message("%s %s", refused[i].method, refused[i].path);
		http_client_request(fixture->client, refused[i].method, refused[i].path, body,
				    TIMEOUT_S, check_status, &status);
		while (!status)
			g_main_context_iteration(NULL, TRUE);
		g_assert_cmpint(status, ==, refused[i].status);
	}
	{
		g_autoptr(json_t) tasks = get(fixture, "/v1/tasks");

		g_assert_cmpuint(json_array_size(json_object_get(tasks, "tasks")), ==, 0);
	}
}

static void keep_body(int status, json_t *body, const GError *error, void *data)
{
	*(json_t **)data = json_incref(body);
}

static gboolean add_event(gpointer data)
{
	struct fixture *fixture = data;

	/* Recording an event calls the scheduler's listener; a node of the host that is gone. */
	task_store_event(fixture->store, "node-ready", 1, NULL, 0, "h1", NULL);
	return G_SOURCE_REMOVE;
}

/* The first event is there at once; a reader who has it waits until its time is up. */
static void test_events(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) first = get(fixture, "/v1/events?after=0&wait_s=10");
	json_t *event = json_array_get(json_object_get(first, "events"), 0);
	g_autoptr(json_t) waited = NULL;

	g_assert_cmpstr(json_string_value(json_object_get(event, "kind")), ==, "scheduler-started");
	g_assert_cmpint(json_integer_value(json_object_get(event, "seq")), ==, 1);
	g_idle_add(add_event, fixture);
	http_client_request(fixture->client, "GET", "/v1/events?after=1&wait_s=1", NULL, TIMEOUT_S,
			    keep_body, &waited);
	while (!waited)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(json_integer_value(json_object_get(waited, "last")), ==, 2);
	g_assert_cmpuint(json_array_size(json_object_get(waited, "events")), ==, 1);
}

/* Nothing of a character is shown before the rest of it has come. */
static void test_whole_characters(void)
{
	static const struct {
		const char *text;
		size_t whole;
	} cases[] = {
		{"", 0},
		{"ab", 2},
		{"a\xc3\xa4", 3},
		{"a\xc3", 1},
		{"\xe2\x82", 0},
		{"\xe2\x82\xac", 3},
		{"\xf0\x9f\x98", 0},
		{"\xf0\x9f\x98\x80", 4},
		{"a\xff", 2},
		{"a\xa4", 2},
		{"\xa4\xa4\xa4\xa4", 4},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpuint(api_whole_characters(cases[i].text, strlen(cases[i].text)), ==,
				 cases[i].whole);
}

static void test_energy(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) energy = get(fixture, "/v1/energy");
	g_autoptr(json_t) samples = get(fixture, "/v1/samples?after=0");

	g_assert_cmpuint(json_array_size(json_object_get(energy, "hosts")), ==, 0);
	g_assert_cmpuint(json_array_size(json_object_get(samples, "samples")), ==, 0);
}

/* A reader that waits while the API ends is dropped without harm. */
static void test_end(struct fixture *fixture, gconstpointer data)
{
	http_client_request(fixture->client, "GET", "/v1/events?after=99&wait_s=60", NULL,
			    TIMEOUT_S, keep_body, &(json_t *){NULL});
	for (int i = 0; i < 50; i++)
		g_main_context_iteration(NULL, FALSE);
	http_client_free(g_steal_pointer(&fixture->client));
	api_free(g_steal_pointer(&fixture->api));
}

#define ADD(name, test) g_test_add("/api/" name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	ADD("says-what-the-cluster-can-do", test_capabilities);
	ADD("says-why-nodes-are-down", test_nodes);
	ADD("shows-quotas-as-emulated-caps", test_quota);
	g_test_add_func("/api/shows-whole-characters", test_whole_characters);
	g_test_add("/api/says-which-caps-do-nothing", struct fixture, "deaf", set_up, test_deaf_vm,
		   tear_down);
	ADD("refuses-what-makes-no-sense", test_refused);
	ADD("gives-events-to-those-who-wait", test_events);
	ADD("has-no-energy-without-meters", test_energy);
	ADD("ends-while-readers-wait", test_end);
	return g_test_run();
}
