/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often each peer may do something. */
#include "common/http_rate.h"

#define S INT64_C(1000000000)

/* How many of `count` tries at one time come through. */
static guint take(struct http_rate *rate, int64_t key, guint count, int64_t now_ns)
{
	guint taken = 0;

	while (count-- > 0)
		taken += http_rate_take(rate, key, now_ns);
	return taken;
}

static void a_peer_who_rested_may_take_some_at_once(void)
{
	g_autoptr(http_rate_t) rate = http_rate_new(2);

	g_assert_cmpint(take(rate, 7, 100, 0), ==, 10);
	g_assert_cmpint(take(rate, 7, 100, S / 4), ==, 0);
	g_assert_cmpint(take(rate, 7, 100, S), ==, 2);
	g_assert_cmpint(take(rate, 7, 100, 3 * S), ==, 4);
	/* Rest is not saved up beyond that. */
	g_assert_cmpint(take(rate, 7, 100, 1000 * S), ==, 10);
}

static void one_peer_takes_nothing_from_another(void)
{
	g_autoptr(http_rate_t) rate = http_rate_new(1);

	g_assert_cmpint(take(rate, 7, 100, 0), ==, 5);
	g_assert_cmpint(take(rate, -1000, 100, 0), ==, 5);
	g_assert_cmpint(take(rate, 8, 100, 0), ==, 5);
	g_assert_cmpint(take(rate, 7, 100, 0), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http-rate/burst", a_peer_who_rested_may_take_some_at_once);
	g_test_add_func("/http-rate/apart", one_peer_takes_nothing_from_another);
	return g_test_run();
}
