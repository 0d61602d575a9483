# A network in ns-2 (Debian package ns2, 2.35), as a scenario with the profile classic describes it: any links, and
# flows without end. `ns2_dumbbell.tcl` has transfers, delayed ACKs and a warm-up, this one has paths and readings over time.
#
#   ns bench/ns2_network.tcl FILE [SEED]
#
# FILE sets `nodes`, `links`, a list of {from to rate delay buffer red ecn}, red being empty or {min max p_max weight gentle
# wait mark_p}, `watched`, two numbers of links (bottleneck and last), `flows`, a list of {from to agent from-s to-s}, `initial_window`,
# `packet_bytes`, `jitter_s`, `ecn` and `readings`, times in seconds.
#
# Prints one line of JSON: at each of these times what has arrived in order, by flow, and counters of links. Of the two-way agent
# (FullTcp and its kinds), which has no sink with a counter, it is the payload that is acknowledged `back_s` later, an ACK's way. The counters are
# packets that came, packets lost, bytes that left, and packets in the queue times seconds.

source [file join [file dirname [info script]] ns2_common.tcl]

for {set i 0} {$i < $nodes} {incr i} { set node($i) [$ns node] }
set monitors {}
set number 0
foreach link $links {
    foreach {from to rate delay buffer red marks} $link break
    if {[llength $red]} {
        red_is [lrange $red 0 3]
        foreach {gentle wait mark_p} [lrange $red 4 6] break
        Queue/RED set gentle_ $gentle
        Queue/RED set wait_ $wait
        Queue/RED set use_mark_p_ [expr {$mark_p > 0}]
        Queue/RED set mark_p_ $mark_p
        Queue/RED set setbit_ $marks
        $ns simplex-link $node($from) $node($to) $rate $delay RED
        # It does not count the packet in transmission.
        set buffer [expr {$buffer - 1}]
    } else {
        $ns simplex-link $node($from) $node($to) $rate $delay DropTail
    }
    $ns queue-limit $node($from) $node($to) $buffer
    if {[lsearch $watched $number] >= 0} {
        lappend monitors [$ns monitor-queue $node($from) $node($to) ""]
    }
    incr number
}

Agent/TCP/FullTcp set segsize_ [expr {$packet_bytes - 40}]
if {![info exists back_s]} { set back_s 0 }
set agents {}
foreach flow $flows {
    foreach {from to agent first last} $flow break
    set tcp [new Agent/TCP/$agent]
    set full [string match FullTcp* $agent]
    set receiver [new Agent/[expr {$full ? "TCP/$agent" : "TCPSink"}]]
    $ns attach-agent $node($from) $tcp
    $ns attach-agent $node($to) $receiver
    $ns connect $tcp $receiver
    if {$full} { $receiver listen }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$starts uniform $first $last] "$ftp start"
    lappend agents [list $tcp $receiver $full]
}

set taken {}
proc reading {} {
    global ns monitors back_s
    set links {}
    foreach monitor $monitors {
        set queue [$monitor get-pkts-integrator]
        $queue newpoint [$ns now] [$monitor set pkts_]
        lappend links "\[[$monitor set parrivals_], [$monitor set pdrops_], [$monitor set bdepartures_], [$queue set sum_]\]"
    }
    if {$back_s > 0} { $ns at [expr {[$ns now] + $back_s}] "take {$links}" } else { take $links }
}
proc take {links} {
    global agents taken
    set rows {}
    foreach trio $agents {
        foreach {tcp receiver full} $trio break
        lappend rows "\[[expr {$full ? [$tcp set ack_] : [$receiver set bytes_]}], [$tcp set nrexmit_]\]"
    }
    lappend taken "{\"flows\": \[[join $rows {, }]\], \"links\": \[[join $links {, }]\]}"
}
foreach at $readings { $ns at $at reading }
proc report {} {
    global taken ns
    puts "\[[join $taken {, }]\]"
    flush stdout
    $ns halt
}
$ns at [expr {[lindex $readings end] + $back_s + 1e-6}] report
$ns run
exit 0
