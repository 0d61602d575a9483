/* What the parts of the agent share. */
#ifndef AGENT_H
#define AGENT_H

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <time.h>

/* A frame as a packet socket sees it. */
struct seen {
	uint8_t head[96];
	int len;	/* of the whole frame, or negative: there is none */
	int outgoing;
	uint64_t at_ns;	/* CLOCK_REALTIME */
};

void check(int ok, const char *what);
uint64_t clock_ns(clockid_t clock);
int packet_socket(int ifindex, int protocol);
struct seen next_frame(int fd);

/* Of TCP: namespaces, sockets, and what epoll says about them. */
void enter(const char *namespace);
int tcp_socket(void);
struct sockaddr_in sink_address(int flow);
void watch(int ep, int fd, uint32_t events, int role, int flow);
uint64_t pack(int role, int flow, int fd);
int role_in(uint64_t data);
int flow_in(uint64_t data);
int fd_in(uint64_t data);

/* Asks about all schedulers of a device. */
void each_scheduler(int netlink, int ifindex, void (*take)(struct tcmsg *tc, int len));

int replay(int argc, char **argv);
int transfer(int argc, char **argv);

#endif
