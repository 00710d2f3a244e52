/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/page.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/visible.h"
#include "controller/report/compare.h"
#include "controller/report/listing.h"
#include "controller/report/resampling.h"
#include "controller/report/page_facts.h"
#include "controller/report/page_svg.h"
#include "controller/report/programs.h"
#include "controller/report/report.h"

/* More runs than these get no table of single runs. */
#define RUNS_LISTED_MAX 200

/* A page under construction. */
struct page {
	GString *text;
	const char *plots;
	const char *link;
};

static void put_escaped(GString *text, const char *content)
{
	g_autofree char *shown = visible_lines(content);
	g_autofree char *escaped = g_markup_escape_text(shown, -1);

	g_string_append(text, escaped);
}

static void put_element(GString *text, const char *element, const char *content)
{
	g_string_append_printf(text, "<%s>", element);
	put_escaped(text, content);
	g_string_append_printf(text, "</%.*s>\n", (int)strcspn(element, " "), element);
}

static void put_links(struct page *page, const char *name)
{
	if (page->link)
		g_string_append_printf(page->text,
				       " <a href=\"%s/%s.csv\">data</a>, "
				       "<a href=\"%s/%s.gp\">gnuplot script</a>",
				       page->link, name, page->link, name);
}

static bool put_chart(struct page *page, const struct chart *chart, GError **error)
{
	g_autofree char *drawing = chart_draw_bare(chart, page->plots, error);
	g_autofree char *svg = NULL;

	if (!drawing)
		return false;
	svg = page_svg(drawing, chart->name, chart->title);
	if (!svg)
		return error_fail(error, CHART_ERROR, CHART_ERROR_GNUPLOT,
				  "gnuplot's drawing of \"%s\" is no SVG; is it gnuplot 5?",
				  chart->name);
	g_string_append_printf(page->text,
			       "<figure id=\"%s\">\n<div class=\"wide\">%s</div>\n"
			       "<figcaption>",
			       chart->name, svg);
	put_element(page->text, "b", chart->title);
	put_escaped(page->text, chart->caption);
	put_links(page, chart->name);
	g_string_append(page->text, "</figcaption>\n</figure>\n");
	return true;
}

static bool put_charts(struct page *page, const GPtrArray *charts, GError **error)
{
	for (guint i = 0; i < charts->len; i++)
		if (!put_chart(page, charts->pdata[i], error))
			return false;
	return true;
}

/* The first line of a heading describes the runs; the others are warnings. */
static void put_notes(struct page *page, const struct summary *summary)
{
	g_autoptr(GPtrArray) heading = summary_heading(summary);
	g_autofree char *machine = summary_machine(summary);

	put_element(page->text, "p", heading->pdata[0]);
	if (machine)
		put_element(page->text, "p", machine);
	if (heading->len < 2)
		return;
	g_string_append(page->text, "<div class=\"notes\" role=\"note\">\n");
	for (guint i = 1; i < heading->len; i++)
		put_element(page->text, "p", heading->pdata[i]);
	g_string_append(page->text, "</div>\n");
}

/* The noise of single runs of a measured directory; NULL: unknown, or it is simulated. */
static struct resampling *noise_of(const struct summary *summary)
{
	return summary->measured ? resampling_new(summary, false, NULL) : NULL;
}

/* The comparison, where there are exactly two directories that can be compared. */
static void put_verdict(struct page *page, struct summary *const *summaries, guint count,
			const struct page_causes *causes)
{
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(resampling_t) noise_a = NULL;
	g_autoptr(resampling_t) noise_b = NULL;
	g_autoptr(compare_t) compare = NULL;
	g_autofree char *title = NULL;
	g_autofree char *sentence = NULL;
	g_autofree char *tables = NULL;

	if (count != 2 || summaries[0]->service || summaries[1]->service)
		return;
	noise_a = noise_of(summaries[0]);
	noise_b = noise_of(summaries[1]);
	compare_sides_init(&sides, summaries[0], resampling_compare(noise_a), summaries[1],
			   resampling_compare(noise_b));
	compare = compare_new(&sides, false, NULL);
	if (!compare)
		return;
	compare->because = causes ? g_strdup(causes->because) : NULL;
	sentence = compare_sentence(compare);
	tables = compare_text(compare);
	title = g_strdup_printf("%s against %s", sides.mixed ? "Measured" : sides.side[0].label,
				sides.side[1].label);
	put_element(page->text, "h2", title);
	put_element(page->text, "p class=\"verdict\"", sentence);
	g_string_append(page->text, "<details><summary>How the verdict was reached</summary>");
	put_element(page->text, "pre", tables);
	g_string_append(page->text, "</details>\n");
}

static void put_folded(struct page *page, const struct table *table, const char *title,
		       const char *caption)
{
	g_autofree char *html = table_html(table, caption);

	g_string_append_printf(page->text, "<details><summary>%s</summary>%s</details>\n", title,
			       html);
}

static bool put_parts(struct page *page, const struct summary *summary, GError **error)
{
	for (const struct listing_part *const *part = report_parts; *part; part++) {
		g_autoptr(GPtrArray) part_rows = listing_read(*part, summary, error);

		if (!part_rows)
			return false;
		for (guint i = 0; i < part_rows->len; i++) {
			const struct listing *listing = (*part)->listings[i];
			const GArray *rows = listing_array(part_rows, i);
			g_autoptr(table_t) table = listing_table(listing->columns, listing->record,
								 rows, listing->shown ?: G_MAXUINT);

			if (rows->len && !listing->text_only)
				put_folded(page, table, listing->title, listing->title);
		}
	}
	return true;
}

static bool put_tables(struct page *page, const struct summary *summary, GError **error)
{
	g_autoptr(table_t) cells = report_table(summary);
	g_autoptr(table_t) runs = NULL;
	g_autofree char *over = summary_over(summary);
	g_autofree char *caption =
		g_strdup_printf("Means and standard deviations (sd) over %s.", over);
	g_autofree char *cells_html = table_html(cells, caption);

	g_string_append(page->text, cells_html);
	if (!put_parts(page, summary, error))
		return false;
	if (!summary->measured || summary->runs->len > RUNS_LISTED_MAX)
		return true;
	runs = report_runs_table(summary, error);
	if (!runs)
		return false;
	put_folded(page, runs, "Every run",
		   "Every run. Samples: power readings on record; the last column is what the "
		   "energy worked out from them differs from the run's.");
	return true;
}

static bool put_section(struct page *page, const struct charts_section *section, guint number,
			GError **error)
{
	const struct summary *summary = section->summary;
	g_autofree char *facts = page_facts_html(summary);

	g_string_append_printf(page->text, "<section id=\"part-%u\">\n", number);
	put_element(page->text, "h2", summary->measured ? "Measured" : "Simulated");
	put_notes(page, summary);
	if (!put_tables(page, summary, error) || !put_charts(page, section->whole, error))
		return false;
	for (guint i = 0; i < section->runs->len; i++) {
		const struct charts_run *run = section->runs->pdata[i];
		g_autofree char *title = chart_run_title(summary, run->run);

		put_element(page->text, "h3", title);
		if (!put_charts(page, run->charts, error))
			return false;
	}
	g_string_append(page->text, facts);
	g_string_append(page->text, "</section>\n");
	return true;
}

static char *title_of(struct summary *const *summaries, guint count)
{
	g_autofree char *name = store_get_meta(summaries[0]->store, "config_name");
	g_autofree char *started = store_get_meta(summaries[0]->store, "started_utc");
	GString *title = g_string_new(name ? name : summaries[0]->dir);

	if (count == 1)
		g_string_append(title, summaries[0]->measured ? ", measured" : ", simulated");
	else
		g_string_append(title, ", runs side by side");
	if (started)
		g_string_append_printf(title, ", %.10s", started);
	return g_string_free(title, FALSE);
}

static void begin_page(struct page *page, struct summary *const *summaries, guint count)
{
	g_autofree char *title = title_of(summaries, count);
	g_autoptr(GBytes) style =
		g_resource_lookup_data(virtbed_programs_get_resource(), "/virtbed/report/page.css",
				       G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

	g_string_append(page->text,
			"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
			"<meta name=\"generator\" content=\"virtbed\">\n");
	put_element(page->text, "title", title);
	/* A resource ends with a zero byte. */
	g_string_append_printf(page->text, "<style>\n%s</style>\n</head>\n<body>\n<main>\n",
			       (const char *)g_bytes_get_data(style, NULL));
	put_element(page->text, "h1", title);
}

/* Why the two directories differ. */
static bool put_causes(struct page *page, const struct page_causes *causes, GError **error)
{
	g_string_append(page->text, "<section id=\"causes\">\n");
	put_element(page->text, "h2", "Why measured and simulated differ");
	g_string_append(page->text, causes->html);
	if (!put_charts(page, causes->charts, error))
		return false;
	g_string_append(page->text, "</section>\n");
	return true;
}

char *page_html(struct summary *const *summaries, guint count, const struct charts *charts,
		const struct page_causes *causes, const char *plots, const char *link,
		const char *more, GError **error)
{
	struct page page = {g_string_new(NULL), plots, link};
	bool good;

	begin_page(&page, summaries, count);
	put_verdict(&page, summaries, count, causes);
	if (more)
		g_string_append(page.text, more);
	good = !charts->utility || put_chart(&page, charts->utility, error);
	good = good && (!causes || put_causes(&page, causes, error));
	for (guint i = 0; good && i < charts->sections->len; i++)
		good = put_section(&page, charts->sections->pdata[i], i + 1, error);
	g_string_append(page.text, "</main>\n</body>\n</html>\n");
	return g_string_free(page.text, !good);
}
