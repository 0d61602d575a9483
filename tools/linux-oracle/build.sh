#!/bin/sh
# Builds the kernel that the comparison with Linux runs as an ordinary process (User-Mode Linux), and
# the two helpers. About 5 minutes of processor time, 1.6 GB on disk while it builds.
# usage: build.sh [TARBALL [FOLDER]]
#   TARBALL  sources of Linux; default: those of the package linux-source-6.12
#   FOLDER   where the result goes; default: $TIDEGATE_UML, else ~/.cache/tidegate/uml
# needs: gcc make flex bison bc xz-utils libelf-dev
set -eu
PINNED=6.12
here=$(cd "$(dirname "$0")" && pwd)
tarball=$(realpath "${1:-/usr/src/linux-source-$PINNED.tar.xz}")
folder=${2:-${TIDEGATE_UML:-${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/uml}}
mkdir -p "$folder/source"
folder=$(realpath "$folder")

tar -xf "$tarball" -C "$folder/source" --strip-components=1
cd "$folder/source"
version=$(make -s kernelversion)
case $version in
"$PINNED".*) ;;
*) echo "build.sh: $tarball has Linux $version; the comparison is pinned to $PINNED" >&2; exit 1 ;;
esac

# User-Mode Linux reserves 2,696 bytes for a processor's registers, and dies where the machine has
# more (10,688 with AMX). The machine clamps what is asked for, so that more does no harm.
sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696);/DEFINE_LONGS(HOST_FP_SIZE, 11264);/' \
	arch/x86/um/user-offsets.c
# Timers of TCP and PIE count in ticks; distributions have 250 to 1000 of them a second, User-Mode
# Linux 100 and no choice.
sed -i '/^config HZ$/,/default 100$/s/default 100$/default 1000/' arch/um/Kconfig
# The link with a transmitter of its own: a device driver of ours.
cp "$here/driver.c" drivers/net/oracle_link.c
grep -q oracle_link drivers/net/Makefile || echo 'obj-y += oracle_link.o' >>drivers/net/Makefile
# RED and PIE take their random numbers from it.
sed -i 's/reciprocal_divide(get_random_u32(), /reciprocal_divide(oracle_draw() >> 32, /
	s/^static inline u32 red_random/u64 oracle_draw(void);\n\n&/' include/net/red.h
sed -i 's/get_random_bytes(&rnd, 8);/rnd = oracle_draw();/
	s/^bool pie_drop_early/u64 oracle_draw(void);\n\n&/' net/sched/sch_pie.c
grep -q 'oracle_draw() >> 32' include/net/red.h
grep -q 'rnd = oracle_draw' net/sched/sch_pie.c

# RED's option "adaptive" has no effect with today's tc, which sets it in an attribute, while the timer
# is started by the field that older ones used.
sed -i 's/if (ctl->flags & TC_RED_ADAPTATIVE)/if (q->flags \& TC_RED_ADAPTATIVE)/' \
	net/sched/sch_red.c
grep -q 'if (q->flags & TC_RED_ADAPTATIVE)' net/sched/sch_red.c
# Its other random numbers (the keys of hashes, TCP's sequence numbers) are to depend neither on the
# folders it is run in nor on when it was built.
sed -i 's/random_init_early(command_line);/random_init_early("");/' init/main.c
grep -q 'random_init_early("")' init/main.c
export KBUILD_BUILD_TIMESTAMP='Thu Jan 1 00:00:00 UTC 1970' KBUILD_BUILD_USER=tidegate \
	KBUILD_BUILD_HOST=oracle KBUILD_BUILD_VERSION=1

make -s ARCH=um O="$folder/objects" KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig
make -s ARCH=um O="$folder/objects" -j"${JOBS:-$(nproc)}" linux
cp "$folder/objects/linux" "$folder/linux"
strip "$folder/linux"
gcc -O2 -shared -fPIC -Wall -o "$folder/randomness.so" "$here/randomness.c"
gcc -O2 -static -Wall -o "$folder/agent" "$here/agent.c" "$here/replay.c" \
	"$here/transfer.c"
echo "$version" >"$folder/version"
rm -rf "$folder/source" "$folder/objects"
echo "built Linux $version: $folder/linux"
