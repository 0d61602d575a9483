/*
 * Inside the guest: greedy TCP flows from the namespace "s" to the namespace "d" through the router in
 * the first namespace, and a record of every data packet there.
 *
 * usage: agent transfer SECONDS FLOWS APART_MS OUTPUT
 *   The flows start so far apart. Both ends' sockets are served by this one process.
 *   OUTPUT  "a PORT ID TIME" a packet came to the router from s (ns since the start), PORT and ID being
 *           the sender's port and IP's identification; "d PORT ID TIME ECN" its transmission began
 */
#define _GNU_SOURCE
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FIRST_PORT 6000
#define DATA_LEN 200 /* longer frames carry data */

enum { SENDER, LISTENER, SINK_END, TIMER };

static FILE *out;
static uint64_t origin_ns;

static void listen_at(int ep, int flow)
{
	struct sockaddr_in a = sink_address(flow);
	int fd = tcp_socket();

	check(!bind(fd, (void *)&a, sizeof(a)) && !listen(fd, 1), "listen");
	watch(ep, fd, EPOLLIN, LISTENER, flow);
}

/* The sender's port is the sink's, so that flows can be told apart in the record. */
static void start(int ep, int flow)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(FIRST_PORT + flow) };
	int fd = tcp_socket();

	check(!bind(fd, (void *)&a, sizeof(a)), "bind");
	a = sink_address(flow);
	check(!connect(fd, (void *)&a, sizeof(a)) || errno == EINPROGRESS, "connect");
	watch(ep, fd, EPOLLOUT, SENDER, flow);
}

static void note(int tap, char what)
{
	for (;;) {
		struct seen seen = next_frame(tap);
		const uint8_t *ip = seen.head + 14;

		if (seen.len < 0)
			return;
		if (seen.len < DATA_LEN || seen.outgoing != (what == 'd'))
			continue;
		fprintf(out, "%c %d %d %lu %d\n", what, ip[20] << 8 | ip[21], ip[4] << 8 | ip[5],
			seen.at_ns - origin_ns, ip[1] & 3);
	}
}

static void serve(int ep, const struct epoll_event *e)
{
	static char buffer[1 << 17];
	int fd = fd_in(e->data.u64);

	switch (role_in(e->data.u64)) {
	case SENDER:
		while (write(fd, buffer, sizeof(buffer)) > 0)
			;
		break;
	case LISTENER:
		watch(ep, accept4(fd, NULL, NULL, SOCK_NONBLOCK), EPOLLIN, SINK_END, 0);
		break;
	case SINK_END:
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
		break;
	default:
		check(read(fd, buffer, 8) == 8, "timer");
	}
}

int transfer(int argc, char **argv)
{
	check(argc > 4, "usage: agent transfer SECONDS FLOWS APART_MS OUTPUT");
	int flows = atoi(argv[2]), started = 0, ep = epoll_create1(0);
	uint64_t apart_ns = strtoull(argv[3], NULL, 10) * 1000000, end_ns;
	int from_s = packet_socket(if_nametoindex("rs"), ETH_P_ALL);
	int to_d = packet_socket(if_nametoindex("link0"), ETH_P_ALL);
	int timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);

	out = fopen(argv[4], "w");
	check(out != NULL, argv[4]);
	enter("d");
	for (int flow = 0; flow < flows; flow++)
		listen_at(ep, flow);
	enter("s");
	watch(ep, timer, EPOLLIN, TIMER, 0);
	origin_ns = clock_ns(CLOCK_REALTIME);
	end_ns = origin_ns + strtoull(argv[1], NULL, 10) * 1000000000;
	for (;;) {
		struct epoll_event ready[64];
		uint64_t now = clock_ns(CLOCK_REALTIME), wake = end_ns;

		if (now >= end_ns)
			break;
		for (; started < flows && origin_ns + started * apart_ns <= now; started++)
			start(ep, started);
		if (started < flows)
			wake = origin_ns + started * apart_ns;
		struct itimerspec at = { .it_value = { wake / 1000000000, wake % 1000000000 } };
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
		int n = epoll_wait(ep, ready, 64, -1);
		for (int i = 0; i < n; i++)
			serve(ep, &ready[i]);
		note(from_s, 'a');
		note(to_d, 'd');
	}
	fclose(out);
	return 0;
}
