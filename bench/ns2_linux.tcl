# ns-2's Agent/TCP/Linux (Debian package ns2, 2.35) with flows without end behind one link.
#
#   ns bench/ns2_linux.tcl FILE [SEED]
#
# FILE sets `controller`, `flows`, `rate`, `round_trip_s`, `buffer`, `red`, empty or {min max p_max weight}, `ecn`, `loss` and `marks`, probabilities
# of a packet, `duration_s`, `until_s`, by when flows begin, `window`, `initial_window`, `packet_bytes` and `jitter_s`.
#
# Prints one line of JSON: packets acknowledged, time-outs, and the link's arrivals, drops, marks and mean delay in seconds.

source [file join [file dirname [info script]] ns2_common.tcl]

Agent/TCP set window_ $window
Agent/TCP set timestamps_ true
# What it takes for the size of a packet leaves out its headers.
Agent/TCP set packetSize_ [expr {$packet_bytes - 40}]

set left [$ns node]
set right [$ns node]
if {[llength $red]} {
    red_is $red
    Queue/RED set gentle_ false
    Queue/RED set wait_ true
    Queue/RED set use_mark_p_ false
    Queue/RED set setbit_ $ecn
    $ns simplex-link $left $right $rate 5ms RED
} else {
    $ns simplex-link $left $right $rate 5ms DropTail
}
$ns simplex-link $right $left 1Gb 5ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000
set monitor [$ns monitor-queue $left $right ""]
if {$loss + $marks > 0} {
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ [expr {$loss + $marks}]
    $errors set markecn_ [expr {$marks > 0}]
    $errors ranvar [new RandomVariable/Uniform]
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $left $right
}
set senders {}
for {set i 0} {$i < $flows} {incr i} {
    foreach {near far} [list $left $right] {
        set from [$ns node]
        set to [$ns node]
        foreach {host router} [list $from $near $to $far] {
            $ns duplex-link $host $router 1Gb [expr {$round_trip_s / 4.0 - 0.0025}] DropTail
            $ns queue-limit $host $router 100000
            $ns queue-limit $router $host 100000
        }
    }
    set tcp [new Agent/TCP/Linux]
    set receiver [new Agent/TCPSink/Sack1]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0 "$tcp select_ca $controller"
    $ns at [$starts uniform 0 $until_s] "$ftp start"
    lappend senders $tcp
}

proc report {} {
    global senders monitor ns
    set acknowledged 0
    set time_outs 0
    foreach tcp $senders {
        incr acknowledged [$tcp set ack_]
        incr time_outs [$tcp set nrexmit_]
    }
    set packets [[$monitor get-pkts-integrator] set sum_]
    set left [$monitor set pdepartures_]
    puts "\[$acknowledged, $time_outs, [$monitor set parrivals_], [$monitor set pdrops_], [$monitor set pmarks_], [expr {$packets / $left}]\]"
    flush stdout
    $ns halt
}
$ns at $duration_s report
$ns run
exit 0
