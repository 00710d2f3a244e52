/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_rate.h"

#include "common/clock.h"

struct http_rate {
	double per_s;
	GHashTable *buckets; /* int64_t -> struct bucket; the key is its first member */
};

struct bucket {
	int64_t key;
	double left; /* at last_ns */
	int64_t last_ns;
};

struct http_rate *http_rate_new(double per_s)
{
	struct http_rate *rate = g_new0(struct http_rate, 1);

	rate->per_s = per_s;
	rate->buckets = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	return rate;
}

void http_rate_free(struct http_rate *rate)
{
	if (!rate)
		return;
	g_hash_table_unref(rate->buckets);
	g_free(rate);
}

static struct bucket *find_bucket(struct http_rate *rate, int64_t key, int64_t now_ns)
{
	struct bucket *bucket = g_hash_table_lookup(rate->buckets, &key);

	if (bucket)
		return bucket;
	bucket = g_new(struct bucket, 1);
	*bucket = (struct bucket){key, HTTP_RATE_BURST_S * rate->per_s, now_ns};
	g_hash_table_insert(rate->buckets, &bucket->key, bucket);
	return bucket;
}

bool http_rate_take(struct http_rate *rate, int64_t key, int64_t now_ns)
{
	struct bucket *bucket = find_bucket(rate, key, now_ns);
	const double gained = clock_elapsed_s(bucket->last_ns, now_ns) * rate->per_s;

	bucket->left = MIN(bucket->left + gained, MAX(HTTP_RATE_BURST_S * rate->per_s, 1));
	bucket->last_ns = now_ns;
	if (bucket->left < 1)
		return false;
	bucket->left -= 1;
	return true;
}
