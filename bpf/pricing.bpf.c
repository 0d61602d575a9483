// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* One object of all congestion controls, since they share what is kept of a socket and the options that set it. */
#include "sbrm.bpf.c"
#include "tcprm.bpf.c"
#include "vegascp.bpf.c"
