# The benchmark scenarios in ns-2 (Debian package ns2, 2.35).
#
#   ns bench/ns2.tcl S1|S2|S3 [-time SECONDS] [-seed N] [-monitor 0|1] [-ecn 0|1] [-jitter SECONDS]
#
#   S1  20 flows of 11 users (10 + 10 x 1) over 10 Mb/s, drop-tail
#   S2  450 flows of 100 users (10 x 36 + 90 x 1) over 100 Mb/s, RED with ECN (-ecn 0: RED drops)
#   S3  6,400 flows over a parking lot of four links at 4.8 Gb/s, 800 on each of eight paths
#
# Prints one line of JSON: for each flow its user (S3: path) and the packets acknowledged; with
# -monitor 1 the counters of each bottleneck queue too, which costs a little time and changes
# nothing else: a timed run takes its packet count from a monitored run of the same seed.

set scenario [lindex $argv 0]
array set option {-time 0 -seed 1 -monitor 0 -ecn 1 -jitter 0}
array set option [lrange $argv 1 end]

# Every header that ns-2 knows would be carried (and cleared) in every packet otherwise.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]

# Neighbouring seeds of ns-2's generator give correlated numbers, substreams do not. Start times
# have a stream of their own; the other one serves RED and the host jitter.
set starts [new RNG]
for {set i 1} {$i < $option(-seed)} {incr i} {
    $starts next-substream
    $defaultRNG next-substream
}

Agent/TCP set windowInit_ 10
Agent/TCP set window_ 10000
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set maxburst_ 0
Agent/TCP set overhead_ $option(-jitter)
Queue set limit_ 100000
Queue/RED set gentle_ false
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set adaptive_ 0

set flows {}
proc add_flow {source sink owner start packet_bytes} {
    global ns flows
    set tcp [new Agent/TCP/Sack1]
    set receiver [new Agent/TCPSink/Sack1]
    $tcp set packetSize_ [expr {$packet_bytes - 40}]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    lappend flows [list $tcp $owner]
}
proc add_pair {left right rate delay} {
    global ns
    set source [$ns node]
    set sink [$ns node]
    $ns duplex-link $source $left $rate $delay DropTail
    $ns duplex-link $right $sink $rate $delay DropTail
    return [list $source $sink]
}
set monitors {}
proc watch {from to} {
    global ns monitors option
    if {$option(-monitor)} { lappend monitors [$ns monitor-queue $from $to ""] }
}

switch $scenario {
    S1 {
        set time 100
        set packet_bytes 1500
        set left [$ns node]
        set right [$ns node]
        $ns duplex-link $left $right 10Mb 5ms DropTail
        $ns queue-limit $left $right 50
        watch $left $right
        for {set user 0} {$user < 11} {incr user} {
            foreach {source sink} [add_pair $left $right 100Mb 0.1ms] break
            set count [expr {$user == 0 ? 10 : 1}]
            for {set i 0} {$i < $count} {incr i} {
                add_flow $source $sink $user [$starts uniform 0 1] $packet_bytes
            }
        }
    }
    S2 {
        set time 100
        set packet_bytes 1500
        Agent/TCP set window_ 45
        Agent/TCP set ecn_ $option(-ecn)
        Queue/RED set mean_pktsize_ $packet_bytes
        Queue/RED set thresh_ 83
        Queue/RED set maxthresh_ 833
        Queue/RED set linterm_ 1
        Queue/RED set q_weight_ 0.002
        Queue/RED set setbit_ $option(-ecn)
        # Else ns-2.35 drops instead of marking where the probability is above 0.1.
        Queue/RED set use_mark_p_ false
        set left [$ns node]
        set right [$ns node]
        $ns simplex-link $left $right 100Mb 40ms RED
        $ns simplex-link $right $left 100Mb 40ms DropTail
        $ns queue-limit $left $right 833
        watch $left $right
        for {set user 0} {$user < 100} {incr user} {
            foreach {source sink} [add_pair $left $right 1000Mb 5ms] break
            set count [expr {$user < 10 ? 36 : 1}]
            for {set i 0} {$i < $count} {incr i} {
                add_flow $source $sink $user [$starts uniform 0 1] $packet_bytes
            }
        }
    }
    S3 {
        set time 5
        set packet_bytes 1000
        for {set i 0} {$i < 5} {incr i} { set router($i) [$ns node] }
        foreach i {0 1 2 3} delay {8ms 8ms 24ms 8ms} buffer {1800 2867 3933 5000} {
            set j [expr {$i + 1}]
            $ns duplex-link $router($i) $router($j) 4800Mb $delay DropTail
            $ns queue-limit $router($i) $router($j) $buffer
            watch $router($i) $router($j)
        }
        set path 0
        foreach {from to} {0 1  1 2  2 3  3 4  0 2  1 3  2 4  0 4} {
            foreach {source sink} [add_pair $router($from) $router($to) 100Gb 1ms] break
            for {set i 0} {$i < 800} {incr i} {
                add_flow $source $sink $path [$starts uniform 0 0.5] $packet_bytes
            }
            incr path
        }
    }
    default {
        puts stderr "unknown scenario '$scenario': expected S1, S2 or S3"
        exit 2
    }
}
if {$option(-time) > 0} { set time $option(-time) }

proc report {} {
    global flows monitors scenario time packet_bytes ns
    set rows {}
    foreach flow $flows {
        foreach {tcp owner} $flow break
        set acked [$tcp set ack_]
        lappend rows "\[$owner, [expr {$acked < 0 ? 0 : $acked}]\]"
    }
    set queues {}
    foreach monitor $monitors {
        # Waiting packets, without the one in transmission.
        set mean [expr {[[$monitor get-pkts-integrator] set sum_] / $time}]
        lappend queues "{\"arrivals\": [$monitor set parrivals_],\
            \"departures\": [$monitor set pdepartures_], \"drops\": [$monitor set pdrops_],\
            \"marks\": [$monitor set pmarks_], \"mean_waiting_packets\": $mean}"
    }
    puts "{\"scenario\": \"$scenario\", \"simulated_s\": $time, \"packet_bytes\": $packet_bytes,\
        \"flows\": \[[join $rows {, }]\], \"queues\": \[[join $queues {, }]\]}"
    flush stdout
    $ns halt
}
$ns at $time "report"
$ns run
exit 0
