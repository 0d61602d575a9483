/*
 * Inside the guest: sends a trace of packets into a scheduler at the times that the trace says, and
 * records when each was sent, when it left the scheduler and whether it was marked by then.
 *
 * usage: agent replay DEVICE TRACE OUTPUT [KIND POLL_NS]
 *   TRACE   a packet a line: time [ns], length [B, Ethernet header included], flow, ECN field
 *   OUTPUT  "a NUMBER TIME" arrived, "d NUMBER TIME ECN" departed, times in ns since the trace began;
 *           "x TIME QLEN BACKLOG DROPS HEX HEX" statistics of the scheduler of that kind in the
 *           middle of every POLL_NS, then what it alone has (or "-"), and its options
 *   on the standard output: "origin NS", the kernel's monotonic clock when the trace began
 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/gen_stats.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define HEADERS 46 /* Ethernet, IPv4, UDP, the number of the packet */
#define LONGEST 2048


struct packet {
	uint64_t due_ns;
	unsigned len, flow, ecn;
};

static FILE *out;
static uint64_t origin_ns;
static int ifindex;
static const char *kind;

static struct packet *read_trace(const char *path, size_t *count)
{
	FILE *file = fopen(path, "r");
	struct packet *trace = NULL, p;
	size_t room = 0;

	check(file != NULL, path);
	for (*count = 0;
	     fscanf(file, "%lu %u %u %u", &p.due_ns, &p.len, &p.flow, &p.ecn) == 4; ++*count) {
		if (*count == room) {
			room = room ? 2 * room : 1024;
			trace = realloc(trace, room * sizeof(*trace));
			check(trace != NULL, "memory");
		}
		trace[*count] = p;
	}
	fclose(file);
	return trace;
}

static void send_packet(int fd, const struct packet *p, uint32_t number)
{
	uint8_t frame[LONGEST] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0 }, *ip = frame + 14;
	uint16_t ip_len = htons(p->len - 14), udp_len = htons(p->len - 34);
	uint16_t port = htons(5000 + p->flow), to = htons(9);
	uint32_t sum = 0;

	ip[0] = 0x45, ip[1] = p->ecn, ip[8] = 64, ip[9] = 17;
	memcpy(ip + 2, &ip_len, 2);
	ip[12] = ip[16] = 10, ip[14] = p->flow >> 8, ip[15] = p->flow, ip[18] = 255, ip[19] = 1;
	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = sum >> 8, ip[11] = sum;
	memcpy(ip + 20, &port, 2);
	memcpy(ip + 22, &to, 2);
	memcpy(ip + 24, &udp_len, 2);
	memcpy(ip + 28, &number, 4);
	/* The scheduler's drop of a packet is told to its sender; it is not what is asked here. */
	check(send(fd, frame, p->len, 0) >= 0 || errno == ENOBUFS, "send");
}

/* Notes all packets that the device has begun to transmit. */
static void note_departures(int fd)
{
	for (;;) {
		struct seen seen = next_frame(fd);
		uint32_t number;

		if (seen.len < 0)
			return;
		if (seen.len < HEADERS)
			continue;
		memcpy(&number, seen.head + 42, 4);
		fprintf(out, "d %u %lu %u\n", number, seen.at_ns - origin_ns, seen.head[15] & 3);
	}
}

static void write_hex(struct rtattr *attribute)
{
	for (unsigned i = 0; attribute && i < RTA_PAYLOAD(attribute); i++)
		fprintf(out, "%02x", ((uint8_t *)RTA_DATA(attribute))[i]);
	if (!attribute)
		fputc('-', out);
}

static void write_statistics(struct tcmsg *tc, int len)
{
	struct rtattr *a[TCA_MAX + 1] = { 0 };
	struct tc_stats *s;

	for (struct rtattr *r = TCA_RTA(tc); RTA_OK(r, len); r = RTA_NEXT(r, len))
		if (r->rta_type <= TCA_MAX)
			a[r->rta_type] = r;
	if (tc->tcm_ifindex != ifindex || strcmp(RTA_DATA(a[TCA_KIND]), kind) || !a[TCA_STATS])
		return;
	s = RTA_DATA(a[TCA_STATS]);
	fprintf(out, "x %lu %u %u %u ", clock_ns(CLOCK_REALTIME) - origin_ns, s->qlen, s->backlog,
		s->drops);
	write_hex(a[TCA_XSTATS]);
	fputc(' ', out);
	write_hex(a[TCA_OPTIONS]);
	fputc('\n', out);
}

static void wake_at(int timer, uint64_t ns)
{
	struct itimerspec at = { .it_value = { ns / 1000000000, ns % 1000000000 } };

	check(!timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL), "timer");
}

int replay(int argc, char **argv)
{
	size_t count = 0, next = 0;
	struct packet *trace = argc > 3 ? read_trace(argv[2], &count) : NULL;
	uint64_t poll_ns = argc > 5 ? strtoull(argv[5], NULL, 10) : 0, next_poll = poll_ns / 2, end_ns;

	check(trace && count, "usage: agent replay DEVICE TRACE OUTPUT [KIND POLL_NS]");
	kind = poll_ns ? argv[4] : NULL;
	ifindex = if_nametoindex(argv[1]);
	out = fopen(argv[3], "w");
	check(ifindex && out, argv[1]);
	int sender = packet_socket(ifindex, 0);
	int tap = packet_socket(ifindex, ETH_P_ALL);
	int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	int timer = timerfd_create(CLOCK_REALTIME, 0);

	origin_ns = clock_ns(CLOCK_REALTIME) / 1000000000 * 1000000000 + 2000000000;
	printf("origin %lu\n", origin_ns - clock_ns(CLOCK_REALTIME) + clock_ns(CLOCK_MONOTONIC));
	end_ns = trace[count - 1].due_ns + 5000000000;
	for (;;) {
		uint64_t packet = next < count ? trace[next].due_ns : end_ns;
		uint64_t wake = poll_ns && next_poll < packet ? next_poll : packet, ticks, now;

		wake_at(timer, origin_ns + wake);
		check(read(timer, &ticks, sizeof(ticks)) > 0, "timer");
		note_departures(tap);
		now = clock_ns(CLOCK_REALTIME) - origin_ns;
		if (now >= end_ns)
			break;
		for (; next < count && trace[next].due_ns <= now; next++) {
			send_packet(sender, &trace[next], next);
			fprintf(out, "a %zu %lu\n", next, now);
		}
		if (poll_ns && next_poll <= now) {
			each_scheduler(netlink, ifindex, write_statistics);
			next_poll += poll_ns;
		}
	}
	fclose(out);
	return 0;
}
