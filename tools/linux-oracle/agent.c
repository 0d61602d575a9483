/* The one program of the guest: "agent replay ...", "transfer ...", "off". */
#define _GNU_SOURCE
#include "agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PORT 6000
#define SINK "10.2.0.2"

void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Outgoing packets are shown only to sockets for all protocols. */
int packet_socket(int ifindex, int protocol)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol),
				  .sll_ifindex = ifindex };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(protocol));
	int room = 64 << 20, on = 1;

	check(fd >= 0, "packet socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	check(!bind(fd, (void *)&at, sizeof(at)), "bind");
	return fd;
}

struct seen next_frame(int fd)
{
	struct seen seen = { 0 };
	struct sockaddr_ll from;
	uint8_t control[128];
	struct iovec part = { seen.head, sizeof(seen.head) };
	struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part,
			    .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct timespec t = { 0 };

	seen.len = recvmsg(fd, &m, MSG_TRUNC);
	if (seen.len < 0)
		return seen;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&t, CMSG_DATA(c), sizeof(t));
	seen.at_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	seen.outgoing = from.sll_pkttype == PACKET_OUTGOING;
	return seen;
}

void enter(const char *namespace)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && !setns(fd, CLONE_NEWNET), path);
	close(fd);
}

int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	check(fd >= 0, "socket");
	return fd;
}

/* Flows are told apart by the sink's port. */
struct sockaddr_in sink_address(int flow)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(FIRST_PORT + flow) };

	inet_pton(AF_INET, SINK, &a.sin_addr);
	return a;
}

uint64_t pack(int role, int flow, int fd)
{
	return (uint64_t)role << 48 | (uint64_t)flow << 32 | (uint32_t)fd;
}

int role_in(uint64_t data)
{
	return data >> 48;
}

int flow_in(uint64_t data)
{
	return data >> 32 & 0xffff;
}

int fd_in(uint64_t data)
{
	return (int)data;
}

void watch(int ep, int fd, uint32_t events, int role, int flow)
{
	struct epoll_event e = { events, { .u64 = pack(role, flow, fd) } };

	check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll");
}

void each_scheduler(int netlink, int ifindex, void (*take)(struct tcmsg *tc, int len))
{
	static uint8_t answer[1 << 16];
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = { { sizeof(request), RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, 0, 0 },
		      { .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex } };

	check(send(netlink, &request, sizeof(request), 0) > 0, "netlink");
	for (;;) {
		int len = recv(netlink, answer, sizeof(answer), 0);

		check(len > 0, "netlink");
		for (struct nlmsghdr *h = (void *)answer; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return;
			check(h->nlmsg_type == RTM_NEWQDISC, "statistics");
			take(NLMSG_DATA(h), h->nlmsg_len - NLMSG_LENGTH(sizeof(struct tcmsg)));
		}
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "replay"))
		return replay(argc - 1, argv + 1);
	if (!strcmp(what, "transfer"))
		return transfer(argc - 1, argv + 1);
	if (!strcmp(what, "off")) {
		sync();
		return reboot(RB_POWER_OFF);
	}
	fprintf(stderr, "agent: replay, transfer or off, not \"%s\"\n", what);
	return 2;
}
