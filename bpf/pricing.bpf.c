// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* One object with all congestion controls, since they share the state of a socket and the options that set it. */
#include "sbrm.bpf.c"
#include "tcprm.bpf.c"
#include "vegascp.bpf.c"
