/* The one program of the guest: "agent replay ...", "agent transfer ...", "agent off". */
#include "agent.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

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
