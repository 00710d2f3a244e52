/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/access/token_book.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/platform.h"

#define LOG_SUBSYSTEM "tokens"
#include "common/log.h"

#define SCHEME "Bearer "

/* A longer secret is none of virtbed's and is not hashed. */
#define SECRET_MAX 128

/*
 * A file that was refused is not read again for this long: it may be long, and anyone can make the
 * controller read it.
 */
#define RETRY_NS INT64_C(1000000000)

/* What identifies a version of a file or directory. All zero: it does not exist. */
struct sight {
	struct stat file, dir;
};

struct token_book {
	const struct platform *platform;
	char *dir;
	char *path;
	struct sight seen; /* when the file was last read */
	GPtrArray *tokens; /* NULL: no usable file */
	/* from which time on an unusable file is read again */
	int64_t retry_ns;
	char *complaint; /* the last message logged; NULL since the file was read */
};

struct token_book *token_book_new(const struct platform *platform, const char *dir)
{
	struct token_book *book = g_new0(struct token_book, 1);

	book->platform = platform;
	book->dir = g_strdup(dir);
	book->path = g_build_filename(dir, TOKENS_FILE, NULL);
	return book;
}

void token_book_free(struct token_book *book)
{
	if (!book)
		return;
	g_clear_pointer(&book->tokens, g_ptr_array_unref);
	g_free(book->complaint);
	g_free(book->path);
	g_free(book->dir);
	g_free(book);
}

static void stat_path(const char *path, int flags, struct stat *ret_status)
{
	if (fstatat(AT_FDCWD, path, ret_status, flags) < 0)
		memset(ret_status, 0, sizeof(*ret_status));
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/*
 * The change time (ctime) also changes with mode and owner, and every write of virtbed makes a new
 * file. The directory's times change with any file in it, so only its mode and owner are compared.
 */
static bool is_as_seen(const struct sight *now, const struct sight *seen)
{
	return is_same_inode(&now->file, &seen->file) && now->file.st_size == seen->file.st_size &&
	       now->file.st_ctim.tv_sec == seen->file.st_ctim.tv_sec &&
	       now->file.st_ctim.tv_nsec == seen->file.st_ctim.tv_nsec &&
	       is_same_inode(&now->dir, &seen->dir) && now->dir.st_mode == seen->dir.st_mode &&
	       now->dir.st_uid == seen->dir.st_uid;
}

static void read_tokens(struct token_book *book)
{
	g_autoptr(GError) error = NULL;

	g_clear_pointer(&book->tokens, g_ptr_array_unref);
	book->tokens = tokens_list(book->dir, &error);
	if (error && g_strcmp0(error->message, book->complaint) != 0)
		log_error("no token is good: %s", error->message);
	g_free(book->complaint);
	book->complaint = error ? g_strdup(error->message) : NULL;
}

static void bring_up_to_date(struct token_book *book)
{
	const int64_t now_ns = platform_now_ns(book->platform);
	struct sight now;

	/*
	 * The state is taken before the file is read: a write in between is seen as a change by the
	 * next call.
	 */
	stat_path(book->path, AT_SYMLINK_NOFOLLOW, &now.file);
	stat_path(book->dir, 0, &now.dir);
	if (is_as_seen(&now, &book->seen) && (book->tokens || now_ns < book->retry_ns))
		return;
	book->seen = now;
	book->retry_ns = now_ns + RETRY_NS;
	read_tokens(book);
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
	return token && platform_utc_us(book->platform) / G_USEC_PER_SEC < token->expires_s ? token
											    : NULL;
}
