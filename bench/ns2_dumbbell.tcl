# A dumbbell in ns-2 (Debian package ns2, 2.35), as a scenario with the profile classic describes it.
#
#   ns bench/ns2_dumbbell.tcl FILE [SEED]
#
# FILE sets `rate_bps`, `delay_s`, `buffer_packets`, `warm_up_s`, `end_s`, `packet_bytes`,
# `initial_window`, `jitter_s`, `ecn`, `red` (empty, or min, max, p_max, weight) and `groups`, a list of
# {users flows agent one-way-access-delay far-delay from to segments delayed-ack-s}; segments 0 is
# without end.
#
# Prints one line of JSON: counters at the end of the warm-up and at the end, by flow and of the queue.

source [file join [file dirname [info script]] ns2_common.tcl]
Queue set limit_ 100000
Queue/RED set gentle_ false
Queue/RED set use_mark_p_ false

set left [$ns node]
set right [$ns node]
if {[llength $red]} {
    red_is $red
    Queue/RED set setbit_ $ecn
    $ns simplex-link $left $right $rate_bps $delay_s RED
} else {
    $ns simplex-link $left $right $rate_bps $delay_s DropTail
}
$ns simplex-link $right $left $rate_bps $delay_s DropTail
$ns queue-limit $left $right $buffer_packets
set monitor [$ns monitor-queue $left $right ""]

set flows {}
set group 0
foreach description $groups {
    foreach {users count agent access far from to segments delack} $description break
    for {set user 0} {$user < $users} {incr user} {
        set source [$ns node]
        set sink [$ns node]
        $ns duplex-link $source $left 100Mb $access DropTail
        $ns duplex-link $right $sink 100Mb $far DropTail
        for {set i 0} {$i < $count} {incr i} {
            set tcp [new Agent/TCP/$agent]
            set kind [expr {$agent eq "Sack1" ? "/Sack1" : ""}]
            if {$delack > 0} { append kind /DelAck }
            set receiver [new Agent/TCPSink$kind]
            if {$delack > 0} { $receiver set interval_ $delack }
            $ns attach-agent $source $tcp
            $ns attach-agent $sink $receiver
            $ns connect $tcp $receiver
            set ftp [new Application/FTP]
            $ftp attach-agent $tcp
            set at [$starts uniform $from $to]
            set number [llength $flows]
            set done($number) -1
            if {$segments > 0} {
                $tcp proc done {} [list finished $number $at]
                $ns at $at "$ftp produce $segments"
            } else {
                $ns at $at "$ftp start"
            }
            lappend flows [list $tcp $group]
        }
    }
    incr group
}
proc finished {number at} {
    global done ns
    set done($number) [expr {[$ns now] - $at}]
}

proc reading {} {
    global flows monitor done
    set rows {}
    set number 0
    foreach flow $flows {
        foreach {tcp group} $flow break
        set acked [$tcp set ack_]
        lappend rows "\[$group, [expr {$acked < 0 ? 0 : $acked}], [$tcp set ndatapack_],\
            [$tcp set nrexmitpack_], [$tcp set nrexmit_], $done($number)\]"
        incr number
    }
    set waiting [[$monitor get-pkts-integrator] set sum_]
    return "{\"flows\": \[[join $rows {, }]\], \"arrivals\": [$monitor set parrivals_],\
        \"departures\": [$monitor set pdepartures_], \"drops\": [$monitor set pdrops_],\
        \"marks\": [$monitor set pmarks_], \"waiting_packet_s\": $waiting}"
}
proc first_reading {} {
    global before
    set before [reading]
}
proc report {} {
    global before ns
    puts "{\"before\": $before, \"after\": [reading]}"
    flush stdout
    $ns halt
}
if {$warm_up_s > 0} { $ns at $warm_up_s "first_reading" } else { first_reading }
$ns at $end_s "report"
$ns run
exit 0
