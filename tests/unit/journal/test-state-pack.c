/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Full states as they are stored: packed, unpacked, and what is refused. */
#include "controller/journal/state_pack.h"

#include <string.h>
#include <zlib.h>

#include "common/config/config_service.h"
#include "common/json.h"

#define HEAD "{\"engine\":{}}\n"

/* A state of any text; freed with the caller. */
static GBytes *state_of(const char *text, gsize size)
{
	uLongf length = compressBound(size);
	guint8 *state = g_malloc(1 + length);

	state[0] = 0;
	g_assert_cmpint(compress2(state + 1, &length, (const Bytef *)text, size, Z_BEST_SPEED), ==,
			Z_OK);
	return g_bytes_new_take(state, 1 + length);
}

static bool is_read(const char *text, gsize size)
{
	g_autoptr(GBytes) state = state_of(text, size);
	g_autoptr(json_t) whole = state_unpack(state);

	return whole != NULL;
}

static json_t *task_of(json_int_t id, gsize length)
{
	g_autofree char *text = g_strnfill(length, 't');

	return json_pack("{s:I, s:s}", "id", id, "text", text);
}

/* Lines are whole again wherever the 64 KiB end that are unpacked at a time. */
static void test_round_trip(void)
{
	static const gsize heads[] = {0, 65000, 65510, 65520, 65530, 65536, 131072, 400000};

	for (gsize i = 0; i < G_N_ELEMENTS(heads); i++) {
		g_autofree char *config = g_strnfill(heads[i], 'c');
		g_autoptr(json_t) head =
			json_pack("{s:{s:i}, s:s}", "engine", "count", 9, "config", config);
		g_autoptr(json_t) tasks = json_array();
		struct state_packer *packer = state_packer_new(head);
		g_autoptr(GBytes) state = NULL;
		g_autoptr(json_t) read = NULL;

		for (json_int_t id = 0; id < 40; id++) {
			json_t *task = task_of(id, (gsize)id * 1000);

			json_array_append_new(tasks, task);
			state_packer_add(task, packer);
		}
		state = state_packer_end(packer);
		read = state_unpack(state);
		g_assert_nonnull(read);
		json_object_set(json_object_get(head, "engine"), "tasks", tasks);
		g_assert_true(json_equal(read, head));
	}
}

/* What is no head with tasks. */
static void test_refused(void)
{
	static const char *const texts[] = {
		"",
		"\n",
		"{}\n",
		"[]\n",
		"{\"engine\":1}\n",
		HEAD "\n",
		HEAD "1\n",
		HEAD "{}",
		HEAD "{\n",
		HEAD "{}\n[]\n",
		HEAD "{}\n\n",
		"\n" HEAD,
		HEAD "{}\n ",
		HEAD "null\n",
	};

	g_assert_true(is_read(HEAD, strlen(HEAD)));
	g_assert_true(is_read(HEAD "{}\n{}\n", strlen(HEAD "{}\n{}\n")));
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_test_message("%s", texts[i]);
		g_assert_false(is_read(texts[i], strlen(texts[i])));
	}
}

/* A line of a task can have 64 KiB, that of a head more. */
static void test_long_line(void)
{
	for (guint more = 0; more <= 1; more++) {
		/* {"text":"..."} */
		g_autofree char *fill = g_strnfill(65536 - strlen("{\"text\":\"\"}") + more, 't');
		g_autofree char *text = g_strdup_printf(HEAD "{\"text\":\"%s\"}\n{}\n", fill);
		g_autofree char *head = g_strdup_printf("{\"engine\":{\"text\":\"%s\"}}\n", fill);

		g_assert_true(is_read(text, strlen(text)) == (more == 0));
		g_assert_true(is_read(head, strlen(head)));
	}
}

/* A few KB of "{}" would be millions of objects. */
static void test_many_lines(void)
{
	g_autoptr(GString) text = g_string_new(HEAD);

	for (guint i = 0; i < CONFIG_SERVICE_TASKS_MAX; i++)
		g_string_append(text, "{}\n");
	g_assert_true(is_read(text->str, text->len));
	g_string_append(text, "{}\n");
	g_assert_false(is_read(text->str, text->len));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/journal/state-pack/tasks come back with their head", test_round_trip);
	g_test_add_func("/journal/state-pack/what is no state is refused", test_refused);
	g_test_add_func("/journal/state-pack/the line of a task is short", test_long_line);
	g_test_add_func("/journal/state-pack/a state has no more tasks than a service",
			test_many_lines);
	return g_test_run();
}
