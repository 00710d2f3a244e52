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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/platform/long-timers", test_long_timers);
	return g_test_run();
}
