# What scripts for ns-2 begin with that play a scenario of the profile classic: the file of the scenario, `starts`, random numbers of the seed, and
# TCP and RED as that profile has them.

remove-all-packet-headers
add-packet-header IP TCP Flags
source [lindex $argv 0]
set seed [expr {[llength $argv] > 1 ? [lindex $argv 1] : 1}]
set ns [new Simulator]
set starts [new RNG]
for {set i 1} {$i < $seed} {incr i} {
    $starts next-substream
    $defaultRNG next-substream
}

Agent/TCP set windowInit_ $initial_window
Agent/TCP set window_ 100000
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set maxburst_ 0
Agent/TCP set overhead_ $jitter_s
Agent/TCP set ecn_ $ecn
Agent/TCP set packetSize_ [expr {$packet_bytes - 40}]
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set adaptive_ 0
Queue/RED set mean_pktsize_ $packet_bytes

# RED's thresholds in packets, largest probability and weight, a list.
proc red_is {red} {
    foreach {min max p_max weight} $red break
    Queue/RED set thresh_ $min
    Queue/RED set maxthresh_ $max
    Queue/RED set linterm_ [expr {1.0 / $p_max}]
    Queue/RED set q_weight_ $weight
}
