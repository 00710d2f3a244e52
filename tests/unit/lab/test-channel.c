/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_channel.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

static void test_messages_keep_their_borders_and_order(void)
{
	g_autofree char *first = NULL;
	g_autofree char *second = NULL;
	int fds[2];

	g_assert_true(lab_channel_open(fds, NULL));
	g_assert_true(lab_channel_send(fds[1], "started %d", 1));
	g_assert_true(lab_channel_send(fds[1], "ready"));
	g_assert_cmpint(lab_channel_receive(fds[0], 1, &first), ==, LAB_CHANNEL_MESSAGE);
	g_assert_cmpint(lab_channel_receive(fds[0], 1, &second), ==, LAB_CHANNEL_MESSAGE);
	g_assert_cmpstr(first, ==, "started 1");
	g_assert_cmpstr(second, ==, "ready");
	close(fds[0]);
	close(fds[1]);
}

static void test_silence_is_a_timeout_and_leaves_the_text(void)
{
	char *text = NULL;
	int fds[2];

	g_assert_true(lab_channel_open(fds, NULL));
	g_assert_cmpint(lab_channel_receive(fds[0], 0, &text), ==, LAB_CHANNEL_TIMEOUT);
	g_assert_cmpint(lab_channel_receive(fds[0], 0.01, &text), ==, LAB_CHANNEL_TIMEOUT);
	g_assert_null(text);
	close(fds[0]);
	close(fds[1]);
}

static void test_the_end_comes_after_the_last_message(void)
{
	g_autofree char *text = NULL;
	char *none = NULL;
	int fds[2];

	g_assert_true(lab_channel_open(fds, NULL));
	g_assert_true(lab_channel_send(fds[1], "error: too bad"));
	close(fds[1]);
	g_assert_cmpint(lab_channel_receive(fds[0], 1, &text), ==, LAB_CHANNEL_MESSAGE);
	g_assert_cmpint(lab_channel_receive(fds[0], 1, &none), ==, LAB_CHANNEL_END);
	g_assert_null(none);
	close(fds[0]);
}

static void test_sending_to_nobody_fails_without_a_signal(void)
{
	int fds[2];

	g_assert_true(lab_channel_open(fds, NULL));
	close(fds[0]);
	g_assert_false(lab_channel_send(fds[1], "ready"));
	close(fds[1]);
}

static void test_long_texts_are_cut(void)
{
	g_autofree char *sent = g_strnfill(3 * LAB_CHANNEL_TEXT_MAX, 'x');
	g_autofree char *text = NULL;
	int fds[2];

	g_assert_true(lab_channel_open(fds, NULL));
	g_assert_true(lab_channel_send(fds[1], "%s", sent));
	g_assert_cmpint(lab_channel_receive(fds[0], 1, &text), ==, LAB_CHANNEL_MESSAGE);
	g_assert_cmpuint(strlen(text), ==, LAB_CHANNEL_TEXT_MAX);
	close(fds[0]);
	close(fds[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/channel/messages keep their borders and order",
			test_messages_keep_their_borders_and_order);
	g_test_add_func("/lab/channel/silence is a timeout and leaves the text",
			test_silence_is_a_timeout_and_leaves_the_text);
	g_test_add_func("/lab/channel/the end comes after the last message",
			test_the_end_comes_after_the_last_message);
	g_test_add_func("/lab/channel/sending without a reader fails without a signal",
			test_sending_to_nobody_fails_without_a_signal);
	g_test_add_func("/lab/channel/long texts are cut", test_long_texts_are_cut);
	return g_test_run();
}
