# SPDX-License-Identifier: GPL-3.0-or-later
# A quantity over time: a panel per limit of energy, a line per run; repeats of a policy have its
# looks, and only the first has marks and an entry in the key.
#   policies[]               names
#   limits[]                 of energy, as parts of the budget
#   runs[]                   their numbers, and of each
#   run_policy[], run_limit[]     the index of its policy and of its limit
#   run_limit_j[], run_points[]   its limit, and its number of points
#   quantity, style          column of the data; how it is drawn, "steps" or "lines"
#   label, scale             of the quantity's axis
#   limited                  1: the limit is drawn, as a dashed line
#   end_s                    of the longest run
#   time_scale, time_unit    unit of the time axis: its value per second, and its name

of(run) = column('run') == run ? time_scale * column('time_s') : NaN
y(x) = scale * column(quantity)

set multiplot title heading font ',9'
set lmargin at screen 0.12
set rmargin at screen 0.98
set xrange [0:time_scale * end_s]
set tics nomirror
set yrange [0:*]
set grid lc rgb '#d0d0d0' lw 0.5
set ylabel label

do for [panel=1:|limits|] {
	set tmargin at screen below(36 + (panel - 1) * 272)
	set bmargin at screen below(36 + (panel - 1) * 272 + 210)
	set title sprintf('limit %g %%', 100 * limits[panel]) offset 0,-0.6
	unset key
	if (panel == |limits|) {
		set xlabel 'since the start of the run, '.time_unit
		set key outside bottom center horizontal Left reverse samplen 1.5
	}
	lines = ''
	count = 0
	limit_j = NaN
	named = ' '
	do for [i=1:|runs|] {
		if (run_limit[i] == panel) {
			p = run_policy[i]
			first = strstrt(named, sprintf(' %d ', p)) == 0
			named = named.sprintf('%d ', p)
			lines = lines.sprintf("data using (of(runs[%d])):(y(1)) with %s lw %s %s notitle, ", i, style, first ? '1.6' : '0.8', line(p))
			# Marks of different lines are at different points, about eight on each.
			step = run_points[i] < 8 ? 1 : run_points[i] / 8
			if (limited && count == 0) { limit_j = run_limit_j[i] }
			if (first) {
				lines = lines.sprintf("data using (of(runs[%d])):(y(1)) every %d::%d with points ps 0.9 %s notitle, ", i, step, count * 7 % step, line(p))
				lines = lines.sprintf("keyentry with linespoints lw 1.6 ps 0.9 %s title policies[%d], ", line(p), p)
			}
			count = count + 1
		}
	}
	# A limit without curves would be an error, so each panel draws something.
	eval 'plot '.lines."scale * limit_j with lines dt 2 lw 1.2 lc rgb '#606060' ".(limited ? "title 'limit'" : 'notitle')
	unset label 999
}
unset multiplot
