/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/access/token_book.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/access/token_file.h"

#define LOG_SUBSYSTEM "tokens"
#include "common/log.h"

#define SCHEME "Bearer "

/* Longer than any of ours: not worth being hashed. */
#define SECRET_MAX 128

struct token_book {
	char *dir;
	char *path;
	struct stat seen; /* of the file that was read last; all zero: there was none */
	GPtrArray *tokens; /* NULL: none that is to be gone by */
};

struct token_book *token_book_new(const char *dir)
{
	struct token_book *book = g_new0(struct token_book, 1);

	book->dir = g_strdup(dir);
	book->path = g_build_filename(dir, TOKENS_FILE, NULL);
	return book;
}

void token_book_free(struct token_book *book)
{
	if (!book)
		return;
	g_clear_pointer(&book->tokens, g_ptr_array_unref);
	g_free(book->path);
	g_free(book->dir);
	g_free(book);
}

/* The change time goes on with modes and owners, too; every write of ours makes a new file. */
static bool is_as_seen(const struct stat *now, const struct stat *seen)
{
	return now->st_ino == seen->st_ino && now->st_dev == seen->st_dev &&
	       now->st_size == seen->st_size && now->st_ctim.tv_sec == seen->st_ctim.tv_sec &&
	       now->st_ctim.tv_nsec == seen->st_ctim.tv_nsec;
}

static void bring_up_to_date(struct token_book *book)
{
	struct stat now = {0};
	g_autoptr(GError) error = NULL;
	int fd;

	/* Looked at before it is read: what is written meanwhile is seen as a change the next time. */
	if (lstat(book->path, &now) < 0)
		memset(&now, 0, sizeof(now));
	if (is_as_seen(&now, &book->seen))
		return;
	book->seen = now;
	g_clear_pointer(&book->tokens, g_ptr_array_unref);
	fd = token_file_open_dir(book->dir, false, &error);
	if (fd >= 0) {
		book->tokens = token_file_read(fd, book->dir, &error);
		close(fd);
	}
	if (!book->tokens)
		log_error("no token is good: %s", error->message);
}

const struct token *token_book_look_up(struct token_book *book, const char *authorization)
{
	const struct token *token;
	const char *secret;

	bring_up_to_date(book);
	if (!authorization || !book->tokens ||
	    g_ascii_strncasecmp(authorization, SCHEME, strlen(SCHEME)) != 0)
		return NULL;
	secret = authorization + strlen(SCHEME);
	if (strlen(secret) > SECRET_MAX)
		return NULL;
	token = tokens_find(book->tokens, secret);
	return token && g_get_real_time() / G_USEC_PER_SEC < token->expires_s ? token : NULL;
}
