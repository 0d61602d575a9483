/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a tc program needs of the kernel, from its public headers alone: the helpers that are called here by
 * their numbers, and the words that describe a map to the loader. So nothing but clang builds the programs.
 */
#ifndef TG_GATEWAY_KERNEL_H
#define TG_GATEWAY_KERNEL_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>

#include "abc.h"

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
				   __u64 flags) = (void *)BPF_FUNC_map_update_elem;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static __u32 (*bpf_get_prandom_u32)(void) = (void *)BPF_FUNC_get_prandom_u32;
static long (*bpf_skb_load_bytes)(const void *skb, __u32 offset, void *to,
				  __u32 len) = (void *)BPF_FUNC_skb_load_bytes;
static long (*bpf_skb_store_bytes)(struct __sk_buff *skb, __u32 offset, const void *from, __u32 len,
				   __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*bpf_l3_csum_replace)(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to,
				   __u64 flags) = (void *)BPF_FUNC_l3_csum_replace;

/*
 * The element of an array. The key fills eight bytes of the stack: without CAP_PERFMON the verifier refuses four in a
 * place that has held a pointer.
 */
static TG_INLINE void *tg_element(void *map, __u64 place)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u64 key = place;
#else
	__u64 key = place << 32;
#endif

	return bpf_map_lookup_elem(map, &key);
}

static TG_INLINE __u16 tg_be16(const __u8 *p)
{
	return (__u16)(p[0] << 8 | p[1]);
}

static TG_INLINE __u32 tg_be32(__u32 word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(word);
#else
	return word;
#endif
}

#endif
