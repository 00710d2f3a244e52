/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens: what is written down of them, what makes one good, and files that must not be gone by. */
#include <glib/gstdio.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "controller/access/token_book.h"
#include "controller/access/token_file.h"

#define FOREVER_S ((double)INFINITY)

struct fixture {
	char *dir, *path;
};

static void setup(struct fixture *fixture, gconstpointer data)
{
	fixture->dir = g_dir_make_tmp("virtbed-tokens-XXXXXX", NULL);
	fixture->path = g_build_filename(fixture->dir, TOKENS_FILE, NULL);
}

static void teardown(struct fixture *fixture, gconstpointer data)
{
	g_chmod(fixture->dir, 0700);
	g_unlink(fixture->path);
	g_assert_cmpint(g_rmdir(fixture->dir), ==, 0); /* nothing else was left in it */
	g_free(fixture->path);
	g_free(fixture->dir);
}

static const char *my_name(void)
{
	return getpwuid(geteuid())->pw_name;
}

static char *create(struct fixture *fixture, enum http_role role, double lifetime_s)
{
	g_autoptr(token_t) token = NULL;
	g_autoptr(GError) error = NULL;
	char *secret = tokens_create(fixture->dir, role, my_name(), lifetime_s, &token, &error);

	g_assert_no_error(error);
	g_assert_cmpint(token->role, ==, role);
	return secret;
}

static const struct token *show(struct token_book *book, const char *secret)
{
	g_autofree char *header = g_strconcat("Bearer ", secret, NULL);

	return token_book_look_up(book, header);
}

static void a_token_is_good_until_it_is_revoked(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(token_book_t) book = token_book_new(&platform_machine, fixture->dir);
	g_autoptr(GPtrArray) list = NULL;
	g_autofree char *text = NULL;
	g_autofree char *secret = NULL;
	g_autofree char *other = NULL;
	g_autofree char *id = NULL;
	const struct token *token;
	struct stat status;

	g_assert_null(show(book, "vbt_x"));
	secret = create(fixture, HTTP_ROLE_USER, 1000);
	other = create(fixture, HTTP_ROLE_OPERATOR, FOREVER_S);
	g_assert_true(g_str_has_prefix(secret, TOKENS_PREFIX));
	g_assert_cmpint(strlen(secret), ==, strlen(TOKENS_PREFIX) + 43);
	g_assert_cmpstr(secret, !=, other);
	token = show(book, secret);
	g_assert_nonnull(token);
	g_assert_cmpint(token->role, ==, HTTP_ROLE_USER);
	g_assert_cmpint(token->uid, ==, geteuid());
	id = g_strdup(token->id);
	g_assert_cmpint(show(book, other)->role, ==, HTTP_ROLE_OPERATOR);
	/* The stored hash does not let a reader use the token, and few users can read the file. */
	g_assert_cmpint(lstat(fixture->path, &status), ==, 0);
	g_assert_cmpint(status.st_mode, ==, S_IFREG | 0600);
	g_assert_true(g_file_get_contents(fixture->path, &text, NULL, NULL));
	g_assert_null(strstr(text, secret + strlen(TOKENS_PREFIX)));
	g_assert_null(strstr(text, TOKENS_PREFIX));
	g_assert_true(tokens_revoke(fixture->dir, id, NULL));
	g_assert_null(show(book, secret));
	g_assert_nonnull(show(book, other));
	g_assert_false(tokens_revoke(fixture->dir, id, NULL));
	list = tokens_list(fixture->dir, NULL);
	g_assert_cmpint(list->len, ==, 1);
	g_assert_cmpint(((struct token *)list->pdata[0])->expires_s, ==, INT64_MAX);
}

static void only_the_whole_header_will_do(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(token_book_t) book = token_book_new(&platform_machine, fixture->dir);
	g_autofree char *secret = create(fixture, HTTP_ROLE_VIEWER, FOREVER_S);
	g_autofree char *cut = g_strndup(secret, strlen(secret) - 1);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, secret, -1);
	g_autofree char *huge = g_strnfill(100000, 'a');
	const struct {
		const char *scheme, *rest;
		bool good;
	} cases[] = {
		{"Bearer ", secret, true},
		{"bearer ", secret, true},
		{"Bearer", secret, false},
		{"Basic ", secret, false},
		{"", secret, false},
		{"Bearer ", cut, false},
		{"Bearer ", hash, false},
		{"Bearer ", "", false},
		{"Bearer  ", secret, false},
		{"Bearer ", huge, false},
		{"", "", false},
		{"Bearer ", "\xff\xfe", false},
	};

	g_assert_null(token_book_look_up(book, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *header = g_strconcat(cases[i].scheme, cases[i].rest, NULL);

		g_test_message("case %zu", i);
		g_assert_true((token_book_look_up(book, header) != NULL) == cases[i].good);
	}
}

static void what_makes_no_sense_is_refused(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(token_t) token = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(token_role_parse("root"), ==, HTTP_ROLE_NONE);
	g_assert_cmpint(token_role_parse(""), ==, HTTP_ROLE_NONE);
	g_assert_cmpint(token_role_parse("anybody"), ==, HTTP_ROLE_NONE);
	g_assert_null(tokens_create(fixture->dir, HTTP_ROLE_USER, "no-such-user-here", 1, &token,
				    &error));
	g_assert_error(error, TOKEN_ERROR, TOKEN_ERROR_INPUT);
	g_clear_error(&error);
	g_assert_null(tokens_create("/nonexistent", HTTP_ROLE_USER, my_name(), 1, &token, &error));
	g_assert_error(error, TOKEN_ERROR, TOKEN_ERROR_FILE);
}

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TOKEN(id, sha, role, uid, expires)                                                         \
	"{\"version\": 1, \"tokens\": [{\"id\": \"" id "\", \"sha256\": \"" sha                    \
	"\", \"role\": \"" role "\", \"user\": \"u\", \"uid\": " uid                               \
	", \"created_utc\": \"2026-01-31T00:00:00Z\", "                                            \
	"\"expires_utc\": " expires "}]}"

static const struct {
	const char *text;
	bool good;
} files[] = {
	{TOKEN("01234567", SHA, "user", "7", "null"), true},
	{TOKEN("01234567", SHA, "user", "7", "\"2026-01-31T00:00:00Z\""), true},
	{"{\"version\": 1, \"tokens\": []}", true},
	{TOKEN("01234567", SHA, "root", "7", "null"), false},
	{TOKEN("01234567", SHA, "anybody", "7", "null"), false},
	{TOKEN("0123456", SHA, "user", "7", "null"), false},
	{TOKEN("0123456g", SHA, "user", "7", "null"), false},
	{TOKEN("01234567", "", "user", "7", "null"), false},
	{TOKEN("01234567", SHA "0", "user", "7", "null"), false},
	{TOKEN("01234567", SHA, "user", "-1", "null"), false},
	{TOKEN("01234567", SHA, "user", "4294967295", "null"), false},
	{TOKEN("01234567", SHA, "user", "\"7\"", "null"), false},
	{TOKEN("01234567", SHA, "user", "7", "\"soon\""), false},
	{TOKEN("01234567", SHA, "user", "7", "7"), false},
	{"{\"version\": 2, \"tokens\": []}", false},
	{"{\"tokens\": []}", false},
	{"{\"version\": 1}", false},
	{"{\"version\": 1, \"tokens\": [7]}", false},
	{"[]", false},
	{"", false},
};

static void files_that_are_odd_are_not_gone_by(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) tokens =
			token_file_parse(files[i].text, strlen(files[i].text), "file", &error);

		g_test_message("%s", files[i].text);
		g_assert_true((tokens != NULL) == files[i].good);
		g_assert_true((error == NULL) == files[i].good);
	}
}

static void a_file_that_was_cut_makes_nobody_known(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *secret = create(fixture, HTTP_ROLE_OPERATOR, FOREVER_S);
	g_autofree char *text = NULL;
	gsize length;

	g_assert_true(g_file_get_contents(fixture->path, &text, &length, NULL));
	g_assert_cmpint(text[length - 1], ==, '}');
	for (gsize i = 0; i < length; i++) {
		g_autoptr(GPtrArray) tokens = token_file_parse(text, i, "file", NULL);

		g_assert_null(tokens);
	}
}

static void a_token_that_has_expired_is_not_good(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(token_book_t) book = token_book_new(&platform_machine, fixture->dir);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "old", -1);
	g_autofree char *text = g_strdup_printf(TOKEN("01234567", "%s", "operator", "0",
						      "\"2026-01-31T00:00:00Z\""),
						hash);

	g_assert_true(g_file_set_contents_full(fixture->path, text, -1, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
	/* Good by its hash; the clock of any machine that runs this is past it. */
	g_assert_null(show(book, "old"));
	g_assert_cmpint(g_unlink(fixture->path), ==, 0);
	g_free(text);
	text = g_strdup_printf(TOKEN("01234567", "%s", "operator", "0", "null"), hash);
	g_assert_true(g_file_set_contents_full(fixture->path, text, -1, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
	g_assert_nonnull(show(book, "old"));
}

static void assert_list_fails(const char *dir, const char *words)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(tokens_list(dir, &error));
	g_assert_error(error, TOKEN_ERROR, TOKEN_ERROR_FILE);
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, words));
}

static void files_that_others_reach_are_not_gone_by(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(token_book_t) book = token_book_new(&platform_machine, fixture->dir);
	g_autofree char *secret = create(fixture, HTTP_ROLE_USER, FOREVER_S);

	g_assert_nonnull(show(book, secret));
	g_chmod(fixture->path, 0640);
	assert_list_fails(fixture->dir, "chmod 600");
	g_assert_null(show(book, secret));
	g_chmod(fixture->path, 0600);
	g_assert_nonnull(show(book, secret));
	g_chmod(fixture->dir, 0770);
	assert_list_fails(fixture->dir, "chmod go-w");
	g_assert_null(show(book, secret));
	g_chmod(fixture->dir, 0755);
	g_assert_nonnull(show(book, secret));
	g_unlink(fixture->path);
	g_assert_cmpint(symlink("/etc/passwd", fixture->path), ==, 0);
	assert_list_fails(fixture->dir, "cannot open");
	g_unlink(fixture->path);
	g_assert_cmpint(mkfifo(fixture->path, 0600), ==, 0);
	assert_list_fails(fixture->dir, "no file of tokens");
}

/* A file of the directory's owner is as good as ours, until another user owns the directory. */
static void a_directory_that_changes_hands_is_noticed(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(token_book_t) book = token_book_new(&platform_machine, fixture->dir);
	g_autofree char *secret = NULL;

	if (geteuid() != 0) {
		g_test_skip("only root gives files away");
		return;
	}
	secret = create(fixture, HTTP_ROLE_USER, FOREVER_S);
	g_assert_cmpint(chown(fixture->dir, 65534, 65534), ==, 0);
	g_assert_cmpint(chown(fixture->path, 65534, 65534), ==, 0);
	g_assert_nonnull(show(book, secret));
	g_assert_cmpint(chown(fixture->dir, 65533, 65533), ==, 0);
	g_assert_null(show(book, secret));
	g_assert_cmpint(chown(fixture->dir, 65534, 65534), ==, 0);
	g_assert_nonnull(show(book, secret));
}

/* With no descriptors left for a while, and nothing changed in the end. */
static void a_file_that_could_not_be_read_is_read_again(struct fixture *fixture, gconstpointer data)
{
	const int64_t deadline_ns = clock_now_ns() + INT64_C(20000000000);
	g_autoptr(token_book_t) book = token_book_new(&platform_machine, fixture->dir);
	g_autofree char *secret = create(fixture, HTTP_ROLE_USER, FOREVER_S);
	struct rlimit before, none;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
	g_assert_null(show(book, secret));
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
	while (!show(book, secret))
		g_assert_cmpint(clock_now_ns(), <, deadline_ns);
}

/*
 * Several make tokens at once, while another process reads: none is lost, and no read sees half a
 * file.
 */
static void writers_do_not_lose_one_anothers_tokens(struct fixture *fixture, gconstpointer data)
{
	enum { WRITERS = 4, EACH = 8 };
	g_autoptr(GPtrArray) all = NULL;
	int left = WRITERS;

	for (int i = 0; i < WRITERS; i++) {
		if (fork() > 0)
			continue;
		for (int j = 0; j < EACH; j++) {
			g_autoptr(token_t) token = NULL;
			g_autofree char *secret = tokens_create(fixture->dir, HTTP_ROLE_USER,
								my_name(), 60, &token, NULL);

			if (!secret)
				_exit(1);
		}
		_exit(0);
	}
	while (left > 0) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) list = tokens_list(fixture->dir, &error);
		int status;

		g_assert_no_error(error);
		if (waitpid(-1, &status, WNOHANG) > 0) {
			g_assert_cmpint(status, ==, 0);
			left--;
		}
	}
	all = tokens_list(fixture->dir, NULL);
	g_assert_cmpint(all->len, ==, WRITERS * EACH);
}

#define ADD(name, function)                                                                        \
	g_test_add("/access/tokens/" name, struct fixture, NULL, setup, function, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("good-until-revoked", a_token_is_good_until_it_is_revoked);
	ADD("header", only_the_whole_header_will_do);
	ADD("refused", what_makes_no_sense_is_refused);
	g_test_add_func("/access/tokens/odd-files", files_that_are_odd_are_not_gone_by);
	ADD("cut", a_file_that_was_cut_makes_nobody_known);
	ADD("expired", a_token_that_has_expired_is_not_good);
	ADD("reachable", files_that_others_reach_are_not_gone_by);
	ADD("changes-hands", a_directory_that_changes_hands_is_noticed);
	ADD("read-again", a_file_that_could_not_be_read_is_read_again);
	ADD("writers", writers_do_not_lose_one_anothers_tokens);
	return g_test_run();
}
