// S1 of bench/run.py in htsim (NewReno without SACK and without a handshake): 20 flows of 11 users over 10 Mb/s.
//   htsim SECONDS
// Prints the packets that left the bottleneck as a line of JSON. bench/others.py builds it.
#include <cstdlib>
#include <iostream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

const int HEAVY_FLOWS = 10, LIGHT_USERS = 10;

class Counted : public Queue {
public:
    using Queue::Queue;
    unsigned long departures = 0;

protected:
    void completeService() override {
        Queue::completeService();
        ++departures;
    }
};

/// A link of its own for each direction.
struct Link {
    Queue* queue;
    Pipe* pipe;

    Link(linkspeed_bps rate, double delay_us, int packets, EventList& events)
        : queue(new Queue(rate, memFromPkt(packets), events, NULL)),
          pipe(new Pipe(timeFromUs(delay_us), events)) {}

    void append(Route& route) const {
        route.push_back(queue);
        route.push_back(pipe);
    }
};

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 100;
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(1500);
    srand(1);

    Counted bottleneck(speedFromMbps(10.0), memFromPkt(50), events, NULL);
    Pipe forward(timeFromUs(5000.0), events);
    Link back(speedFromMbps(10.0), 5000, 50, events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSink*> sinks;

    for (int user = 0; user <= LIGHT_USERS; ++user) {
        const linkspeed_bps access = speedFromMbps(100.0);
        Link up(access, 100, 100000, events), down(access, 100, 100000, events);
        Link ack_up(access, 100, 100000, events), ack_down(access, 100, 100000, events);
        for (int flow = 0; flow < (user == 0 ? HEAVY_FLOWS : 1); ++flow) {
            TcpSrc* source = new TcpSrc(NULL, NULL, events);
            TcpSink* sink = new TcpSink();
            source->set_ssthresh(0xffffffff);
            timers.registerTcp(*source);

            Route *out = new Route(), *in = new Route();
            up.append(*out);
            out->push_back(&bottleneck);
            out->push_back(&forward);
            down.append(*out);
            out->push_back(sink);
            ack_up.append(*in);
            back.append(*in);
            ack_down.append(*in);
            in->push_back(source);
            source->connect(*out, *in, *sink, drand() * timeFromSec(1));
            sinks.push_back(sink);
        }
    }
    while (events.doNextEvent()) {
    }
    std::cout << "{\"packets\": " << bottleneck.departures << ", \"flows\": " << sinks.size() << "}\n";
    return 0;
}
