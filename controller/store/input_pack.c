/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/input_pack.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "controller/store/store_records.h"

/* The longest pack that is read, unpacked. */
#define BYTES_MAX (64u << 20)

/* The longest name of a kind. Each input has a copy of it. */
#define KIND_BYTES_MAX 64

/* Fields with real numbers. */
enum real {
	REAL_TIME = 0,
	REAL_EXEC,
	REAL_ENERGY,  /* of an event */
	REAL_ACCOUNT, /* of an account: with other decimals */
	REALS,
};

/* What a pack is made of, each in an array of bytes of its own. */
enum column {
	COLUMN_KIND = 0, /* the number of the kind in the order in which they come */
	COLUMN_NAMES,    /* of the kinds */
	COLUMN_HAS,      /* bits: which fields there are */
	COLUMN_HAS_MORE,
	COLUMN_TASK,
	COLUMN_ATTEMPT,
	COLUMN_LENGTHS, /* of texts */
	COLUMN_DETAIL,
	COLUMN_ANSWERS,
	COLUMN_SNAPSHOT,
	COLUMN_PLAN,
	COLUMN_REQUEST,
	COLUMN_CUT,
	COLUMN_SCALES,                            /* decimals of real numbers */
	COLUMN_HOW,                               /* enum how, for each kind of number */
	COLUMN_DIFFERENCES = COLUMN_HOW + REALS,  /* of decimal numbers */
	COLUMN_BITS = COLUMN_DIFFERENCES + REALS, /* of other numbers */
	COLUMNS = COLUMN_BITS + REALS,
};

/* How a real number is written. */
enum how {
	HOW_SAME = 0, /* as the one before it */
	HOW_DECIMAL,  /* a difference to the last decimal number */
	HOW_BITS,     /* its 64 bits */
	HOW_SINCE,    /* an execution time: since the input before it about the task */
};

/* Fields that an input has. */
enum {
	HAS_TIME = 1 << 0,
	HAS_TASK = 1 << 1, /* or an attempt */
	HAS_EXEC = 1 << 2,
	HAS_ENERGY = 1 << 3,
	HAS_DETAIL = 1 << 4,
	HAS_ANSWERS = 1 << 5,
	HAS_SNAPSHOT = 1 << 6,
	HAS_PLAN = 1 << 7,
	HAS_REQUEST = 1 << 8,
	HAS_CUT = 1 << 9,
};

/* Numbers with more decimals are written by their bits. */
#define SCALE_MAX 9
static const double powers[SCALE_MAX + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
/* Whole numbers up to here are doubles. */
#define WHOLE_MAX 0x1p53

/*
 * A pack that is read or written. The same functions do both, so that they cannot differ: each
 * takes a pointer, and writes what is there or sets it.
 */
struct pack {
	bool reading;
	bool damaged;
	GByteArray *columns[COLUMNS];
	guint at[COLUMNS]; /* reading: the next byte */
	GPtrArray *names;  /* of kinds */
	GHashTable *times; /* of a task's number: the time of the last input about it, double * */
	int64_t task;      /* of the last input with one */
	struct {
		guint8 scale;
		double last;
		int64_t whole; /* the last decimal number x 10^scale */
	} reals[REALS];
};

static void pack_init(struct pack *pack, bool reading)
{
	*pack = (struct pack){
		.reading = reading,
		.names = g_ptr_array_new_with_free_func(g_free),
		.times = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
	};
	for (guint i = 0; i < COLUMNS; i++)
		pack->columns[i] = g_byte_array_new();
}

static void pack_clear(struct pack *pack)
{
	for (guint i = 0; i < COLUMNS; i++)
		g_byte_array_unref(pack->columns[i]);
	g_ptr_array_unref(pack->names);
	g_hash_table_unref(pack->times);
}

/* Bytes and whole numbers. */

static void code_bytes(struct pack *pack, guint column, void *bytes, guint size)
{
	GByteArray *array = pack->columns[column];

	if (!pack->reading) {
		g_byte_array_append(array, bytes, size);
	} else if (array->len - pack->at[column] < size) {
		pack->damaged = true;
		memset(bytes, 0, size);
	} else if (size > 0) {
		memcpy(bytes, array->data + pack->at[column], size);
		pack->at[column] += size;
	}
}

static guint8 code_byte(struct pack *pack, guint column, guint8 byte)
{
	code_bytes(pack, column, &byte, 1);
	return byte;
}

/* Seven bits a byte, the lowest first; negative numbers as odd ones. */
static int64_t code_whole(struct pack *pack, guint column, int64_t number)
{
	uint64_t left = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
	uint64_t read = 0;
	guint shift = 0;
	guint8 byte;

	do {
		byte = code_byte(pack, column, (guint8)((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
		read |= (uint64_t)(byte & 0x7f) << shift;
		left >>= 7;
		shift += 7;
	} while (byte & 0x80 && shift < 64);
	return (int64_t)(read >> 1 ^ -(read & 1));
}

/* A text that is not NULL; reading, a new one. */
static char *code_text(struct pack *pack, guint column, char *text)
{
	int64_t length = code_whole(pack, COLUMN_LENGTHS, text ? (int64_t)strlen(text) : 0);

	if (!pack->reading) {
		code_bytes(pack, column, text, (guint)length);
		return text;
	}
	if (length < 0 || length > pack->columns[column]->len) {
		pack->damaged = true;
		length = 0;
	}
	text = g_malloc0((gsize)length + 1);
	code_bytes(pack, column, text, (guint)length);
	/* No byte of it is 0, either. What reads inputs from rows makes them UTF-8, too. */
	if (!g_utf8_validate(text, (gssize)length, NULL)) {
		pack->damaged = true;
		*text = '\0';
	}
	return text;
}

/* Real numbers. */

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Whether a number has at most so many decimals, and which x 10^scale. */
static bool is_decimal(double value, guint scale, int64_t *ret_whole)
{
	const double whole = round(value * powers[scale]);

	if (!(fabs(whole) <= WHOLE_MAX))
		return false;
	*ret_whole = (int64_t)whole;
	return bits_of((double)*ret_whole / powers[scale]) == bits_of(value);
}

/* A number of an input; NAN: it has none of that kind. */
static double real_of(const struct store_input *input, enum real real)
{
	const bool event = !isnan(input->time_s);

	switch (real) {
	case REAL_TIME:
		return input->time_s;
	case REAL_EXEC:
		return input->exec_s;
	default:
		return event == (real == REAL_ENERGY) ? input->energy_j : (double)NAN;
	}
}

/* The least decimals that all of the numbers have; SCALE_MAX: some may have more. */
static guint8 find_scale(const GPtrArray *inputs, enum real real)
{
	guint8 scale = 0;
	int64_t whole;

	for (guint i = 0; i < inputs->len; i++) {
		const double value = real_of(inputs->pdata[i], real);

		while (scale < SCALE_MAX && !isnan(value) && !is_decimal(value, scale, &whole))
			scale++;
	}
	return scale;
}

static guint8 choose(const struct pack *pack, enum real real, double value, double since_s,
		     int64_t *ret_whole)
{
	if (bits_of(value) == bits_of(pack->reals[real].last))
		return HOW_SAME;
	if (bits_of(value) == bits_of(since_s))
		return HOW_SINCE;
	return is_decimal(value, pack->reals[real].scale, ret_whole) ? HOW_DECIMAL : HOW_BITS;
}

/* `since_s`: what an execution time is likely to be; NAN: not known. */
static double code_real(struct pack *pack, enum real real, double value, double since_s)
{
	int64_t whole = 0;
	const enum how how =
		code_byte(pack, COLUMN_HOW + real,
			  pack->reading ? 0 : choose(pack, real, value, since_s, &whole));
	const int64_t last = pack->reals[real].whole;
	int64_t difference;

	switch (how) {
	case HOW_SAME:
		value = pack->reals[real].last;
		break;
	case HOW_SINCE:
		value = since_s;
		break;
	case HOW_DECIMAL:
		/* What is damaged may be any number. */
		difference = code_whole(pack, COLUMN_DIFFERENCES + real,
					pack->reading ? 0 : whole - last);
		whole = (int64_t)((uint64_t)last + (uint64_t)difference);
		pack->reals[real].whole = whole;
		value = (double)whole / powers[pack->reals[real].scale];
		break;
	default:
		code_bytes(pack, COLUMN_BITS + real, &value, sizeof(value));
		break;
	}
	pack->reals[real].last = value;
	return value;
}

/* Inputs. */

static char *read_name(struct pack *pack)
{
	char *name = code_text(pack, COLUMN_NAMES, NULL);

	if (strlen(name) > KIND_BYTES_MAX)
		pack->damaged = true;
	return name;
}

/* The kind of an input, by its number in the order in which they come; 0: it is about a time. */
static char *code_kind(struct pack *pack, char *kind)
{
	guint index = 0;

	if (!pack->reading && kind &&
	    g_ptr_array_find_with_equal_func(pack->names, kind, g_str_equal, &index))
		index++;
	else if (kind)
		index = pack->names->len + 1;
	index = (guint)code_whole(pack, COLUMN_KIND, index);
	if (index == 0)
		return NULL;
	if (index > pack->names->len)
		g_ptr_array_add(pack->names,
				pack->reading ? read_name(pack)
					      : g_strdup(code_text(pack, COLUMN_NAMES, kind)));
	return pack->reading ? g_strdup(pack->names->pdata[MIN(index, pack->names->len) - 1])
			     : kind;
}

static guint fields_of(const struct store_input *input)
{
	return (isnan(input->time_s) ? 0 : HAS_TIME) |
	       (input->task != -1 || input->attempt != -1 ? HAS_TASK : 0) |
	       (isnan(input->exec_s) ? 0 : HAS_EXEC) | (isnan(input->energy_j) ? 0 : HAS_ENERGY) |
	       (input->detail ? HAS_DETAIL : 0) | (input->answers ? HAS_ANSWERS : 0) |
	       (input->snapshot_sum != -1 ? HAS_SNAPSHOT : 0) |
	       (input->plan_sum != -1 ? HAS_PLAN : 0) |
	       (input->request_sum != -1 ? HAS_REQUEST : 0) | (input->cut != -1 ? HAS_CUT : 0);
}

/* The time since the last input about the task, and its own from now on. */
static double elapsed_s(struct pack *pack, const struct store_input *input)
{
	double *time_s = g_hash_table_lookup(pack->times, &input->task);
	const double since_s = time_s ? input->time_s - *time_s : (double)NAN;

	if (!time_s) {
		time_s = g_new(double, 1);
		g_hash_table_insert(pack->times, g_memdup2(&input->task, sizeof(input->task)),
				    time_s);
	}
	*time_s = input->time_s;
	return since_s;
}

static void code_task(struct pack *pack, struct store_input *input)
{
	const uint64_t difference = (uint64_t)input->task - (uint64_t)pack->task;

	input->task = (int64_t)((uint64_t)pack->task +
				(uint64_t)code_whole(pack, COLUMN_TASK, (int64_t)difference));
	input->attempt = code_whole(pack, COLUMN_ATTEMPT, input->attempt);
	pack->task = input->task;
}

/* The bits of a sum that are kept, a byte after the other. */
static int64_t code_sum(struct pack *pack, guint column, int64_t sum, uint64_t kept)
{
	uint64_t read = 0;

	for (guint shift = 0; shift < 64; shift += 8)
		if (kept >> shift & 0xff)
			read |= (uint64_t)code_byte(pack, column,
						    (guint8)((uint64_t)sum >> shift &
							     kept >> shift))
				<< shift;
	return pack->reading ? (int64_t)(read & kept) : sum;
}

static void code_input(struct pack *pack, struct store_input *input)
{
	guint has = pack->reading ? 0 : fields_of(input);
	double since_s = (double)NAN;

	input->kind = code_kind(pack, input->kind);
	has = code_byte(pack, COLUMN_HAS, (guint8)has) |
	      (guint)code_byte(pack, COLUMN_HAS_MORE, (guint8)(has >> 8)) << 8;
	if (has & HAS_TIME)
		input->time_s = code_real(pack, REAL_TIME, input->time_s, (double)NAN);
	if (has & HAS_TASK) {
		code_task(pack, input);
		since_s = elapsed_s(pack, input);
	}
	if (has & HAS_EXEC)
		input->exec_s = code_real(pack, REAL_EXEC, input->exec_s, since_s);
	if (has & HAS_ENERGY)
		input->energy_j = code_real(pack, has & HAS_TIME ? REAL_ENERGY : REAL_ACCOUNT,
					    input->energy_j, (double)NAN);
	if (has & HAS_DETAIL)
		input->detail = code_text(pack, COLUMN_DETAIL, input->detail);
	if (has & HAS_ANSWERS)
		input->answers = code_text(pack, COLUMN_ANSWERS, input->answers);
	if (has & HAS_SNAPSHOT)
		input->snapshot_sum =
			code_sum(pack, COLUMN_SNAPSHOT, input->snapshot_sum, STORE_PACKED_SNAPSHOT);
	if (has & HAS_PLAN)
		input->plan_sum = code_sum(pack, COLUMN_PLAN, input->plan_sum, STORE_PACKED_PLAN);
	if (has & HAS_REQUEST)
		input->request_sum =
			code_sum(pack, COLUMN_REQUEST, input->request_sum, STORE_PACKED_REQUEST);
	if (has & HAS_CUT)
		input->cut = code_whole(pack, COLUMN_CUT, input->cut);
}

/* The whole. */

/* A number in front of the bytes, seven bits a byte. */
static void append_size(GByteArray *bytes, guint size)
{
	guint8 byte;

	do {
		byte = (guint8)((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
		g_byte_array_append(bytes, &byte, 1);
		size >>= 7;
	} while (size > 0);
}

static bool take_size(const guint8 **data, gsize *left, guint *ret_size)
{
	uint64_t size = 0;
	guint shift = 0;
	guint8 byte;

	do {
		if (*left == 0 || shift > 28)
			return false;
		byte = *(*data)++;
		--*left;
		size |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*ret_size = (guint)size;
	return size <= BYTES_MAX;
}

GBytes *input_pack_write(const GPtrArray *inputs)
{
	struct pack pack;
	GByteArray *whole = g_byte_array_new();
	GByteArray *packed = g_byte_array_new();
	uLongf size;
	guint head;

	pack_init(&pack, false);
	for (enum real real = 0; real < REALS; real++) {
		pack.reals[real].scale = find_scale(inputs, real);
		code_byte(&pack, COLUMN_SCALES, pack.reals[real].scale);
	}
	for (guint i = 0; i < inputs->len; i++) {
		struct store_input input = *(const struct store_input *)inputs->pdata[i];

		code_input(&pack, &input);
	}
	for (guint i = 0; i < COLUMNS; i++) {
		append_size(whole, pack.columns[i]->len);
		g_byte_array_append(whole, pack.columns[i]->data, pack.columns[i]->len);
	}
	append_size(packed, whole->len);
	head = packed->len;
	size = compressBound(whole->len);
	g_byte_array_set_size(packed, head + (guint)size);
	if (compress2(packed->data + head, &size, whole->data, whole->len, Z_BEST_COMPRESSION) !=
	    Z_OK)
		g_error("out of memory");
	g_byte_array_set_size(packed, head + (guint)size);
	g_byte_array_unref(whole);
	pack_clear(&pack);
	return g_byte_array_free_to_bytes(packed);
}

/* Sets the columns of a pack. */
static bool unpack(struct pack *pack, GBytes *bytes)
{
	gsize left;
	const guint8 *data = g_bytes_get_data(bytes, &left);
	g_autofree guint8 *whole = NULL;
	const guint8 *at;
	uLongf length;
	guint size;

	if (!take_size(&data, &left, &size))
		return false;
	whole = g_malloc(size + 1u);
	length = size;
	if (uncompress(whole, &length, data, left) != Z_OK || length != size)
		return false;
	at = whole;
	left = length;
	for (guint i = 0; i < COLUMNS; i++) {
		if (!take_size(&at, &left, &size) || size > left)
			return false;
		g_byte_array_append(pack->columns[i], at, size);
		at += size;
		left -= size;
	}
	return left == 0;
}

static bool read_scales(struct pack *pack)
{
	for (enum real real = 0; real < REALS; real++) {
		pack->reals[real].scale = code_byte(pack, COLUMN_SCALES, 0);
		if (pack->reals[real].scale > SCALE_MAX)
			return false;
	}
	return true;
}

GPtrArray *input_pack_read(GBytes *bytes, int64_t run, uint32_t first)
{
	GPtrArray *inputs = record_list_new(&store_input_record);
	struct pack pack;

	pack_init(&pack, true);
	if (!unpack(&pack, bytes) || !read_scales(&pack))
		pack.damaged = true;
	while (!pack.damaged && pack.at[COLUMN_KIND] < pack.columns[COLUMN_KIND]->len) {
		struct store_input *input = record_new(&store_input_record);

		input->run = run;
		input->n = first + inputs->len;
		input->packed = true;
		code_input(&pack, input);
		g_ptr_array_add(inputs, input);
		if (inputs->len > INPUT_PACK_MAX)
			pack.damaged = true;
	}
	if (pack.damaged)
		g_clear_pointer(&inputs, g_ptr_array_unref);
	pack_clear(&pack);
	return inputs;
}
