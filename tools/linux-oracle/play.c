/*
 * Inside the guest: the flows of a scenario, from namespaces through the router in the first one to
 * the namespace "d", and what was measured of them.
 *
 * usage: agent play FLOWS OUTPUT KIND WARM_UP_NS DURATION_NS POLL_NS
 *   FLOWS   a flow a line: namespace, congestion control, start [ns], bytes of a transfer (0: sends
 *           without end), pause to the next one [ns]
 *   KIND    of the scheduler in front of link0 whose queue is measured
 *   OUTPUT  "s WHEN ..." lines of /proc/oracle_link at the beginning (0) and the end (1) of what is
 *           measured; "k WHEN DROPS QLEN" what the scheduler says then; "n WHEN NAMESPACE ..." what
 *           the namespace's /proc/net/netstat says; "q SAMPLES SUM" of the scheduler's qlen, sampled
 *           every POLL_NS between; "t FLOW START TOOK" a transfer [ns]: from the request to when the
 *           sender has been told that all of it arrived
 */
#define _GNU_SOURCE
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MOST 1000

enum { SENDER, LISTENER, SINK_END, TIMER };

static struct flow {
	char namespace[16], control[16];
	uint64_t next_ns, size, pause_ns, started_ns, left;
	int running, fd;
} flows[MOST];

static FILE *out;
static uint64_t origin_ns, samples, sum;
static int ep, netlink, link0, count;
static const char *kind;
static struct tc_stats scheduler;

static void take_statistics(struct tcmsg *tc, int len)
{
	struct rtattr *a[TCA_MAX + 1] = { 0 };

	for (struct rtattr *r = TCA_RTA(tc); RTA_OK(r, len); r = RTA_NEXT(r, len))
		if (r->rta_type <= TCA_MAX)
			a[r->rta_type] = r;
	if (tc->tcm_ifindex == link0 && a[TCA_STATS] && !strcmp(RTA_DATA(a[TCA_KIND]), kind))
		memcpy(&scheduler, RTA_DATA(a[TCA_STATS]), sizeof(scheduler));
}

static void copy(const char *path, const char *before)
{
	char line[4096];
	FILE *file = fopen(path, "r");

	check(file != NULL, path);
	while (fgets(line, sizeof(line), file))
		fprintf(out, "%s %s", before, line);
	fclose(file);
}

static void take_stock(int when)
{
	char before[32];

	snprintf(before, sizeof(before), "s %d", when);
	copy("/proc/oracle_link", before);
	each_scheduler(netlink, link0, take_statistics);
	fprintf(out, "k %d %u %u\n", when, scheduler.drops, scheduler.qlen);
	for (int i = 0; i < count; i++) {
		if (i && !strcmp(flows[i].namespace, flows[i - 1].namespace))
			continue;
		enter(flows[i].namespace);
		snprintf(before, sizeof(before), "n %d %.15s", when, flows[i].namespace);
		copy("/proc/thread-self/net/netstat", before);
		copy("/proc/thread-self/net/snmp", before);
	}
}

static int socket_of(const struct flow *flow)
{
	int fd = tcp_socket();

	check(!setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->control, strlen(flow->control)),
	      flow->control);
	return fd;
}

static void start(int i, uint64_t now)
{
	struct flow *flow = &flows[i];
	struct sockaddr_in a = sink_address(i);

	enter(flow->namespace);
	flow->fd = socket_of(flow);
	flow->running = 1;
	flow->started_ns = now;
	flow->left = flow->size;
	check(!connect(flow->fd, (void *)&a, sizeof(a)) || errno == EINPROGRESS, "connect");
	watch(ep, flow->fd, EPOLLOUT, SENDER, i);
}

/* The sink has hung up, so it has all. */
static void finish(int i, uint64_t now)
{
	struct flow *flow = &flows[i];

	fprintf(out, "t %d %lu %lu\n", i, flow->started_ns, now - flow->started_ns);
	close(flow->fd);
	flow->running = 0;
	flow->next_ns = now + flow->pause_ns;
}

static void send_some(int i, uint64_t now)
{
	static char buffer[1 << 17];
	struct flow *flow = &flows[i];

	if (flow->size && !flow->left) {
		ssize_t got = read(flow->fd, buffer, sizeof(buffer));

		check(got == 0 || errno == EAGAIN, "sender");
		if (!got)
			finish(i, now);
		return;
	}
	for (;;) {
		size_t most = flow->size && flow->left < sizeof(buffer) ? flow->left : sizeof(buffer);
		ssize_t sent = write(flow->fd, buffer, most);

		check(sent > 0 || errno == EAGAIN, "sender");
		if (sent < 0)
			return;
		if (!flow->size || (flow->left -= sent))
			continue;
		struct epoll_event e = { EPOLLIN, { .u64 = pack(SENDER, i, flow->fd) } };

		shutdown(flow->fd, SHUT_WR);
		epoll_ctl(ep, EPOLL_CTL_MOD, flow->fd, &e);
		return;
	}
}

static void serve(uint64_t data, uint64_t now)
{
	static char buffer[1 << 17];
	int fd = fd_in(data), i = flow_in(data);
	ssize_t got;

	switch (role_in(data)) {
	case SENDER:
		send_some(i, now);
		break;
	case LISTENER:
		watch(ep, accept4(fd, NULL, NULL, SOCK_NONBLOCK), EPOLLIN, SINK_END, i);
		break;
	case SINK_END:
		while ((got = read(fd, buffer, sizeof(buffer))) > 0)
			;
		if (!got)
			close(fd);
		break;
	default:
		check(read(fd, buffer, 8) == 8, "timer");
	}
}

static void read_flows(const char *path)
{
	FILE *file = fopen(path, "r");
	struct flow f = { 0 };

	check(file != NULL, path);
	while (count < MOST && fscanf(file, "%15s %15s %lu %lu %lu", f.namespace, f.control, &f.next_ns,
				      &f.size, &f.pause_ns) == 5)
		flows[count++] = f;
	fclose(file);
}

static void listen_at(int i)
{
	struct sockaddr_in a = sink_address(i);
	int fd = socket_of(&flows[i]), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	check(!bind(fd, (void *)&a, sizeof(a)) && !listen(fd, 8), "listen");
	watch(ep, fd, EPOLLIN, LISTENER, i);
}

int play(int argc, char **argv)
{
	check(argc > 6, "usage: agent play FLOWS OUTPUT KIND WARM_UP_NS DURATION_NS POLL_NS");
	uint64_t begin_ns = strtoull(argv[4], NULL, 10);
	uint64_t end_ns = begin_ns + strtoull(argv[5], NULL, 10);
	uint64_t poll_ns = strtoull(argv[6], NULL, 10), next_poll = begin_ns;
	int timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK), begun = 0;

	kind = argv[3];
	read_flows(argv[1]);
	out = fopen(argv[2], "w");
	check(out && count, argv[2]);
	ep = epoll_create1(0);
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	link0 = if_nametoindex("link0");
	enter("d");
	for (int i = 0; i < count; i++)
		listen_at(i);
	watch(ep, timer, EPOLLIN, TIMER, 0);
	origin_ns = clock_ns(CLOCK_REALTIME);
	for (;;) {
		struct epoll_event ready[64];
		uint64_t now = clock_ns(CLOCK_REALTIME) - origin_ns, wake = end_ns;

		if (!begun && now >= begin_ns) {
			take_stock(0);
			begun = 1;
		}
		if (now >= end_ns)
			break;
		if (now >= next_poll) {
			each_scheduler(netlink, link0, take_statistics);
			samples++;
			sum += scheduler.qlen;
			next_poll += poll_ns;
		}
		for (int i = 0; i < count; i++) {
			struct flow *flow = &flows[i];

			if (!flow->running && flow->next_ns <= now)
				start(i, now);
			else if (!flow->running && flow->next_ns < wake)
				wake = flow->next_ns;
		}
		if (next_poll < wake)
			wake = next_poll;
		struct itimerspec at = { .it_value = { (origin_ns + wake) / 1000000000,
						       (origin_ns + wake) % 1000000000 } };
		check(!timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL), "timer");
		int n = epoll_wait(ep, ready, 64, -1);
		now = clock_ns(CLOCK_REALTIME) - origin_ns;
		for (int i = 0; i < n; i++)
			serve(ready[i].data.u64, now);
	}
	take_stock(1);
	fprintf(out, "q %lu %lu\n", samples, sum);
	fclose(out);
	return 0;
}
