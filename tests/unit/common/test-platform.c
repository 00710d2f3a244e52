/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a platform is asked for, and what the one of this machine does. */
#include "common/platform.h"

/* A clock that notes for how long a timer was set. */
static guint set_ms;

static guint note_timer(const struct platform *platform, int priority, guint ms,
			GSourceFunc function, void *data)
{
	set_ms = ms;
	return 1;
}

static const struct platform_clock noting_clock = {.timer = note_timer};
static const struct platform noting = {.clock = &noting_clock};

static gboolean never(gpointer data)
{
	g_assert_not_reached();
}

/* A time limit may be longer than a number of milliseconds has room for. */
static void test_long_timers(void)
{
	platform_after_s(&noting, 3, never, NULL);
	g_assert_cmpuint(set_ms, ==, 3000);
	platform_after_s(&noting, G_MAXUINT / 1000, never, NULL);
	g_assert_cmpuint(set_ms, ==, G_MAXUINT / 1000 * 1000);
	platform_after_s(&noting, G_MAXUINT / 1000 + 1, never, NULL);
	g_assert_cmpuint(set_ms, ==, G_MAXUINT);
	platform_after_s(&noting, G_MAXUINT, never, NULL);
	g_assert_cmpuint(set_ms, ==, G_MAXUINT);
}

/* Random numbers that count up. */
static void count_up(const struct platform *platform, void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		((uint8_t *)bytes)[i] = (uint8_t)(0xf0 + i);
}

static const struct platform_random counting_random = {.fill = count_up};
static const struct platform counting = {.random = &counting_random};

/* Ids come from the platform, and those of this machine differ. */
static void test_uuid(void)
{
	g_autofree char *counted = platform_uuid(&counting);
	g_autofree char *one = platform_uuid(&platform_machine);
	g_autofree char *other = platform_uuid(&platform_machine);

	g_assert_cmpstr(counted, ==, "f0f1f2f3-f4f5-46f7-b8f9-fafbfcfdfeff");
	g_assert_true(g_uuid_string_is_valid(one));
	g_assert_cmpstr(one, !=, other);
	g_assert_cmphex(platform_random_number(&counting), ==, GUINT32_FROM_LE(0xf3f2f1f0));
}

/* What workers have done, in order; each letter is one piece of work. */
struct diary {
	GThread *thread; /* of the first piece */
	char work[8];    /* a worker's */
	guint length;
	guint done; /* on the main loop */
};

static void write_down(void *data)
{
	struct diary *diary = data;

	if (!diary->thread)
		diary->thread = g_thread_self();
	g_assert_true(diary->thread == g_thread_self());
	platform_pause(&platform_machine, 1);
	diary->work[diary->length] = (char)('a' + diary->length);
	diary->length++;
}

static void count_done(void *data)
{
	((struct diary *)data)->done++;
}

/*
 * A worker does one piece of work after another on its thread; ended workers have done all that
 * they were given.
 */
static void test_workers(void)
{
	const struct platform *platform = &platform_machine;
	struct platform_worker *workers[] = {platform_hire(platform, "one"),
					     platform_hire(platform, "other")};
	struct diary diaries[G_N_ELEMENTS(workers)] = {0};

	for (guint i = 0; i < 4; i++)
		platform_give(platform, workers[0], write_down, count_done, &diaries[0]);
	platform_give(platform, workers[1], write_down, NULL, &diaries[1]);
	platform_dismiss(platform, workers, G_N_ELEMENTS(workers), 60);
	g_assert_cmpstr(diaries[0].work, ==, "abcd");
	g_assert_cmpstr(diaries[1].work, ==, "a");
	g_assert_true(diaries[0].thread != diaries[1].thread);
	g_assert_cmpuint(diaries[0].done, ==, 0);
	while (diaries[0].done < 4)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpuint(diaries[1].done, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/platform/long-timers", test_long_timers);
	g_test_add_func("/platform/uuid", test_uuid);
	g_test_add_func("/platform/workers", test_workers);
	return g_test_run();
}
