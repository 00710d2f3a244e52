# Words of results that were renamed, to compare results of two versions byte by byte: sed -E -f renames.sed
# on the older ones.
s/\b[Pp]aper 000\b/Machovec 2017/g
s/\b[Pp]aper 002\b/Machovec 2018/g
s/\b[Pp]aper 003\b/Stillwell 2010/g
s/\b[Pp]aper 004\b/Gentry 2019/g
s/"section": "000, /"section": "Machovec 2017, /
s/"immediate_section": "000, /"immediate_section": "Machovec 2017, /
s/"section": "002, /"section": "Machovec 2018, /
s/"section": "003, /"section": "Stillwell 2010, /
s/"section": "004, /"section": "Gentry 2019, /
s/nodes are there that could not be counted on: planned anew/nodes became free unexpectedly: planned again/
s/planned anew when nodes came that could not be counted on/planned again when nodes became free unexpectedly/
s/\ba person (cancelled it|holds it|suspended it)/a user \1/
s/fits now without delaying what is promised/fits now without delaying a reservation/
s/first that has to wait: gets the one reservation/first task that has to wait: gets the one reservation/
s/worth more than what runs on these nodes, which gives way/worth more than the tasks on these nodes, which are suspended/
s/it and what runs on these nodes earn no less, with \+algorithm-3 more, if it goes first/it and the tasks on these nodes earn no less, with +algorithm-3 more, if it goes first/
s/of the tasks that are likely to be on time the first to end/the first to end of the tasks that are likely to be on time/
s/the soonest deadline of those that end first here/the soonest deadline of the tasks that end first here/
s/the most urgent of those that end first here/the most urgent of the tasks that end first here/
s/first of the order that has most tasks on time/first in the order that has most tasks on time/
s/the dice fell on another option/another option was drawn/
s/what would give way there is worth as much, or of Pair earns as much/the tasks there are worth as much, or with Pair earn as much/
s/it and what runs there earn more, with \+algorithm-3 no less, if that goes first/it and the tasks there earn more, with +algorithm-3 no less, if those go first/
s/was put off, and its time has not come/it is deferred, and its time has not come/
s/the queue has no place left/the queue is full/
s/it queues tasks on machines, and the nodes here have no queues/it queues tasks on clusters, and the clusters here have no queues/
