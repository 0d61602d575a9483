/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel types that the programs use, with only the members that they use.
 *
 * preserve_access_index makes the compiler record every access by name; the loader then looks the
 * name up in the type information (BTF) of the running kernel and inserts its offset. So no header
 * generated from one kernel is needed, and order and size of the members here are irrelevant.
 */
#ifndef TG_KERNEL_H
#define TG_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef _Bool bool;
/* Used in the declarations of libbpf's helpers. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* linux/bpf.h */
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC (1U << 0)
#define BPF_F_CLONE (1U << 9)
#define BPF_SK_STORAGE_GET_F_CREATE (1ULL << 0)

/* linux/in.h */
#define IPPROTO_TCP 6

/* net/sock.h, enum sk_pacing */
#define TG_PACING_NONE 0
#define TG_PACING_NEEDED 1
#define TG_UNPACED (~0UL)

/* net/tcp.h and net/inet_connection_sock.h */
#define TCP_CONG_NON_RESTRICTED (1U << 0)
#define TCP_CONG_NEEDS_ECN (1U << 1)
#define TCP_ECN_DEMAND_CWR (1U << 2)
#define ICSK_ACK_TIMER (1U << 1)
#define ICSK_ACK_NOW (1U << 4)

enum tg_ca_state {	/* enum tcp_ca_state */
	TG_CA_CWR = 2,
	TG_CA_RECOVERY = 3,
	TG_CA_LOSS = 4,
};

enum tg_ca_event {	/* enum tcp_ca_event */
	TG_CA_EVENT_ECN_NO_CE = 4,
	TG_CA_EVENT_ECN_IS_CE = 5,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {	/* the kernel passes a tcp_sock */
	unsigned long sk_pacing_rate;	/* bytes/s */
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
};

struct inet_connection_sock {
	struct {
		__u8 pending;
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_cwnd_clamp;
	__u32 max_packets_out;
	__u32 srtt_us;		/* eighths of a microsecond */
	__u32 delivered;
	__u32 delivered_ce;
	__u32 rcv_nxt;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 write_seq;
	__u32 mss_cache;
	__u8 ecn_flags;
	__u8 is_cwnd_limited : 1;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	void (*cong_control)(struct sock *sk);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	__u32 (*min_tso_segs)(struct sock *sk);
	char name[16];
	__u32 flags;
};

#pragma clang attribute pop

/* A program of type cgroup/setsockopt accesses these two by a fixed interface, without relocation. */
struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
};

struct bpf_sockopt {
	__attribute__((aligned(8))) struct bpf_sock *sk;
	__attribute__((aligned(8))) void *optval;
	__attribute__((aligned(8))) void *optval_end;
	__s32 level;
	__s32 optname;
	__s32 optlen;
	__s32 retval;
};

#endif /* TG_KERNEL_H */
