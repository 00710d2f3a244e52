# SPDX-License-Identifier: GPL-3.0-or-later
# Execution times above, energies below: bars of the estimates per type and cluster, and the
# observations of the runs' tasks as points beside their middles.
#   types[], clusters[]          names
#   slot                         of a bar; type i is at x = i - 1
#   seen                         1: there are observations
#   time_scale, time_unit        unit of the times: its value per second, and its name
#   energy_scale, energy_unit    per joule

of(cluster) = strcol('cluster') eq cluster ? column('x') : NaN
# Estimates and observations stand beside one another.
shift = seen ? 0.2 * slot : 0
array labels[2] = ['ETC, '.time_unit, 'EEC, '.energy_unit]
array scales[2] = [time_scale, energy_scale]
array estimates[2] = ['etc', 'eec']
array tasks[2] = ['exec', 'energy']
array units[2] = ['_s', '_j']
estimate(part) = scales[panel] * column(estimates[panel].part.units[panel])
task(part) = scales[panel] * column(tasks[panel].part.units[panel])

set multiplot title heading font ',9'
set lmargin at screen 0.11
set rmargin at screen 0.98
set xrange [-0.5:|types| - 0.5]
set tics nomirror
set yrange [0:*]
set grid ytics lc rgb '#d0d0d0' lw 0.5
set xtics () scale 0
do for [i=1:|types|] { set xtics add (types[i] i - 1) }
unset key

# Intervals are arrows with square heads: gnuplot's own error bars leave a gap in their middle.
# Points have a light edge below the intervals.
bars = "for [i=1:|clusters|] data using (of(clusters[i])):(estimate('')):(0.9 * slot) with boxes ".\
       "fs transparent pattern (pattern(i)) border lc rgb colour(i) lc rgb pale(i, 0.75) title clusters[i], "
intervals = "data using (column('x') - shift):(estimate('_low')):(0):(estimate('_high') - estimate('_low')) ".\
            "with vectors heads size graph 0.006,90 lc rgb '#303030' lw 1.2 notitle, "
edges = ''
points = ''
if (seen) {
	edges = "data using (column('x') + shift):(task('')) with points pt 13 ps 1.6 lc rgb '#ffffff' notitle, "
	points = "data using (column('x') + shift):(task('_low')):(0):(task('_high') - task('_low')) ".\
	         "with vectors heads size graph 0.006,90 lc rgb '#000000' lw 1.2 notitle, ".\
	         "data using (column('x') + shift):(task('')) with points pt 13 ps 1 lc rgb '#000000' ".\
	         "title 'completed tasks of the runs', "
}
do for [panel=1:2] {
	set tmargin at screen below(18 + (panel - 1) * 270)
	set bmargin at screen below(18 + (panel - 1) * 270 + 230)
	set ylabel labels[panel]
	if (panel == 2) { set key outside bottom center horizontal Left reverse samplen 1.5 }
	# The last draws nothing: there must be something after the last comma.
	eval 'plot '.bars.edges.intervals.points.'NaN notitle'
	unset label 999
}
unset multiplot
