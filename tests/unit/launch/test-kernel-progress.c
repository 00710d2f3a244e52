/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels as a local scheduler starts them, on this vm: what rank 0 tells the PMI server of its
 * progress.
 */
#include <gio/gio.h>
#include <glib-unix.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local-sched/launch/pmi_server.h"

#define RANKS_MAX 2
#define DEADLINE_MS 50000 /* for one word of any rank */

static const char *programs;

static const struct job_case {
	const char *name;
	uint32_t ranks;
	const char *repetitions;
} cases[] = {
	{"cg", 1, "2"}, {"ep", 1, "1"}, {"is", 1, "3"}, {"is_cg", 1, "2"}, {"mg", 1, "2"},
	{"cg", 2, "1"}, {"ep", 2, "1"}, {"is", 2, "2"}, {"mg", 2, "1"},
};

static void set_environment(GSubprocessLauncher *launcher, const struct job_case *job,
			    uint32_t rank)
{
	g_autofree char *rank_text = g_strdup_printf("%u", rank);
	g_autofree char *size_text = g_strdup_printf("%u", job->ranks);

	g_subprocess_launcher_setenv(launcher, "PMI_RANK", rank_text, TRUE);
	g_subprocess_launcher_setenv(launcher, "PMI_SIZE", size_text, TRUE);
	g_subprocess_launcher_setenv(launcher, "PMI_FD", "3", TRUE);
	/* More at once might not find room, and the last one would be left out as well. */
	g_subprocess_launcher_setenv(launcher, "VIRTBED_PROGRESS_MS", "10", TRUE);
	g_subprocess_launcher_setenv(launcher, "VIRTBED_BLOCK_MS", "2", TRUE);
	g_subprocess_launcher_setenv(launcher, "UCX_TLS", "tcp,self", TRUE);
	g_subprocess_launcher_setenv(launcher, "UCX_NET_DEVICES", "lo", TRUE);
}

/* Returns our end of its PMI connection. */
static int start(const struct job_case *job, uint32_t rank, GSubprocess **ret_process)
{
	g_autoptr(GSubprocessLauncher) launcher =
		g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_SILENCE);
	g_autofree char *program = g_build_filename(programs, job->name, NULL);
	g_autoptr(GError) error = NULL;
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
	set_environment(launcher, job, rank);
	g_subprocess_launcher_take_fd(launcher, ends[1], 3);
	*ret_process = g_subprocess_launcher_spawn(launcher, &error, program, "--class", "S",
						   "--repetitions", job->repetitions, NULL);
	g_assert_no_error(error);
	return ends[0];
}

/* False: the rank has ended. */
static bool serve(struct pmi_server *server, uint32_t rank, int fd)
{
	g_autoptr(GError) error = NULL;
	char bytes[4096];
	const ssize_t length = read(fd, bytes, sizeof(bytes));

	if (length <= 0)
		return false;
	pmi_server_input(server, rank, bytes, (size_t)length, &error);
	g_assert_no_error(error);
	return true;
}

static void send_answers(struct pmi_server *server, const struct pollfd *ports, uint32_t ranks)
{
	for (uint32_t i = 0; i < ranks; i++) {
		size_t length = 0;
		g_autofree char *text = pmi_server_take_output(server, i, &length);

		if (text)
			g_assert_cmpint(write(ports[i].fd, text, length), ==, (ssize_t)length);
	}
}

static void test_counts_all_its_steps(gconstpointer data)
{
	const struct job_case *job = data;
	g_autoptr(pmi_server_t) server = pmi_server_new(job->ranks, 1, job->ranks);
	GSubprocess *processes[RANKS_MAX] = {NULL};
	struct pollfd ports[RANKS_MAX];
	uint32_t left = job->ranks;
	int64_t done = 0;
	int64_t total = 0;

	for (uint32_t i = 0; i < job->ranks; i++)
		ports[i] = (struct pollfd){.fd = start(job, i, &processes[i]), .events = POLLIN};
	while (left > 0) {
		g_assert_cmpint(poll(ports, job->ranks, DEADLINE_MS), >, 0);
		for (uint32_t i = 0; i < job->ranks; i++) {
			if (!ports[i].revents || serve(server, i, ports[i].fd))
				continue;
			close(ports[i].fd);
			ports[i].fd = -1;
			left--;
		}
		send_answers(server, ports, job->ranks);
	}
	for (uint32_t i = 0; i < job->ranks; i++) {
		g_assert_true(g_subprocess_wait_check(processes[i], NULL, NULL));
		g_object_unref(processes[i]);
	}
	g_assert_true(pmi_server_progress(server, &done, &total));
	g_test_message("%" G_GINT64_FORMAT " steps", total);
	g_assert_cmpint(done, ==, total);
	g_assert_cmpint(total, >, 10);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	programs = argv[1];
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path =
			g_strdup_printf("/kernel-progress/%s-%u", cases[i].name, cases[i].ranks);

		g_test_add_data_func(path, &cases[i], test_counts_all_its_steps);
	}
	return g_test_run();
}
