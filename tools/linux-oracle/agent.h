/* What the parts of the agent share. */
#ifndef AGENT_H
#define AGENT_H

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

int replay(int argc, char **argv);
int transfer(int argc, char **argv);

#endif
