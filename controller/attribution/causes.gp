# SPDX-License-Identifier: GPL-3.0-or-later
# Why measured and simulated differ, as a waterfall for each policy at a limit: from the simulated
# value, cause by cause, to the measured one.
#   policies[], places[]  names, and the middle of the bars of each
#   steps[]               names of the bars of a policy: simulated, the causes, ..., measured
#   axis                  the measure
#   low, high             ends of the axis
#   end_x                 of the last bar

of(step) = strcol('step') eq step ? column('x') : NaN
floor_of(value) = value < low ? low : value

set title heading font ',9'
set ylabel axis
set xrange [0:end_x + 1]
set yrange [low:high]
set xtics () scale 0
do for [i=1:|policies|] { set xtics add (policies[i] places[i]) }
set tics nomirror
set grid ytics lc rgb '#d0d0d0' lw 0.5
set key outside bottom center horizontal Left reverse samplen 1.5

# Ends are grey and stand on the axis; causes hang between the values before and after them. A line
# leads from bar to bar. Intervals are arrows with square heads: gnuplot's own error bars leave a gap.
ends = |steps|
shade(i) = i == 1 ? 0xb0b0b0 : i == ends ? 0x606060 : colour(i - 1)
plot for [i=1:|steps|] \
  data using (of(steps[i])):(column('to')):(column('x') - 0.4):(column('x') + 0.4):(floor_of(column('from'))):(column('to')) \
    with boxxyerror fs transparent pattern (i == 1 || i == ends ? 3 : pattern(i - 1)) border lc rgb shade(i) lc rgb shade(i) title steps[i], \
  data using (column('line') > 0 ? column('x') - 0.6 : NaN):(column('from')):(0.2):(0) \
    with vectors nohead lc rgb '#303030' lw 1 notitle, \
  data using (column('x')):(column('low')):(0):(column('high') - column('low')) \
    with vectors heads size graph 0.006,90 lc rgb '#303030' lw 1.2 notitle
