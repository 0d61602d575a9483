# RED in ns-2.35, to be compared with ours packet by packet:
#
#     ns ns2.tcl && python3 convert.py
#
# Poisson arrivals of 1000 B on 1 Mb/s, at loads that take the average through all its zones: idle,
# below min_th, between, gentle, forced, and back.
Queue/RED set gentle_ true
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1000
Queue/RED set adaptive_ 0
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set linterm_ 10
Queue/RED set q_weight_ 0.02
Queue/RED set wait_ 1
Queue/RED set setbit_ false
Queue/RED set use_mark_p_ false

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 1Mb 5ms RED
$ns simplex-link $right $left 1Mb 5ms DropTail
$ns queue-limit $left $right 200

set averages [open averages.tmp w]
set queue [[$ns link $left $right] queue]
$queue trace ave_
$queue trace prob1_
$queue attach $averages
set packets [open packets.tmp w]
$ns trace-queue $left $right $packets

set udp [new Agent/UDP]
$udp set packetSize_ 1000
$ns attach-agent $left $udp
set sink [new Agent/Null]
$ns attach-agent $right $sink
$ns connect $udp $sink

set rng [new RNG]
$rng seed 7
set gap [new RandomVariable/Exponential]
$gap use-rng $rng
set t 0.01
set second 0
foreach load_percent {60 150 400 90 30 5 130 250 50} {
    $gap set avg_ [expr 0.8 / $load_percent]
    set second [expr $second + 0.5]
    while {$t < $second} {
        $ns at [format %.9f $t] "$udp send 1000"
        set t [expr $t + [$gap value]]
    }
}
$ns at 6 "close $averages; close $packets; exit 0"
$ns run
