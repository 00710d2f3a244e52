# SPDX-License-Identifier: GPL-3.0-or-later
# Utility earned: a group of bars per limit of energy, a bar per policy and run directory.
#   policies[], directories[]  names
#   limits[]                   of energy, as parts of the budget
#   budget                     the energy of 100 %, with its unit
#   bar_width                  limit i is at x = i - 1
#   deviations                 1: bars have deviations
#   key_columns                entries of the key on a line
#   numbered                   1: bars have numbers, which the key explains; patterns repeat
#   same                       1: there are points for the simulation of the measured arrivals

of(policy, run) = strcol('policy') eq policy && strcol('run') eq run ? column('x') : NaN
same_x(x) = strcol('run') eq 'measured arrivals' ? column('x') + 0.28 * bar_width : NaN
# Measured bars have their full colour; the others are the lighter the further right they are.
share(run) = |directories| > 1 ? 1 - 0.55 * (run - 1) / (|directories| - 1) : 1
policy_title(policy) = (numbered ? sprintf('%d  ', policy) : '').policies[policy]

set title heading font ',9'
set ylabel 'utility earned'.(deviations ? ' (mean and standard deviation)' : '')
# The empty line separates the key from the label.
set xlabel 'limit of dynamic energy, % of '.budget."\n " offset 0,-numbered
set xtics () scale 0 offset 0,-numbered
do for [i=1:|limits|] { set xtics add (sprintf('%g %%%%', 100 * limits[i]) i - 1) }
# A number in the middle of the bars of each policy, at each limit.
slot = bar_width * (|directories| + 0.25)
do for [i=1:|limits|] {
	do for [j=1:numbered * |policies|] {
		set label sprintf('%d', j) at first i - 1 - slot * |policies| / 2 + slot * (j - 0.5), graph 0 center offset 0,-0.7 font small
	}
}
set xrange [-0.5:|limits| - 0.5]
set tics nomirror
set yrange [0:*]
set grid ytics lc rgb '#d0d0d0' lw 0.5
set key outside bottom center horizontal Left reverse samplen 1.5 maxcols key_columns

# The points are beside the deviations, with a light edge below them. Deviations are arrows with
# square heads: gnuplot's own error bars leave a gap in their middle.
edges = ''
points = ''
if (same) {
	edges = "data using (same_x(1)):(column('utility_mean')) with points pt 13 ps 1.8 lc rgb '#ffffff' notitle, "
	points = ", data using (same_x(1)):(column('utility_mean')) with points pt 13 ps 1.2 lc rgb '#000000' title 'simulated on the measured arrivals'"
}
plot for [p=1:|policies|] for [r=1:|directories|] \
  data using (of(policies[p], directories[r])):(column('utility_mean')):(bar_width) \
    with boxes fs transparent pattern (pattern(p)) border lc rgb colour(p) lc rgb pale(p, share(r)) \
    title policy_title(p).', '.directories[r], \
  @edges data using (column('x')):(column('utility_mean') - column('utility_sd')):(0):(2 * column('utility_sd')) \
    with vectors heads size graph 0.006,90 lc rgb '#303030' lw 1.2 notitle @points
