//! cgroup v2 directory of this process, on machines with v2 or with v1 and v2 together.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;

/// Returns the directory of this process.
pub fn own() -> Result<PathBuf, Failure> {
    let read = |path: &str| {
        fs::read_to_string(path).map_err(|error| Failure::Other(format!("{path}: {error}")))
    };
    find(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?).ok_or_else(|| {
        let line = "no cgroup v2 hierarchy is mounted: mount one (mount -t cgroup2 none DIR)";
        Failure::Missing(line.to_owned())
    })
}

/// Returns `0::/path` in `groups`, below the mount in `mounts` whose root is a prefix of it.
fn find(groups: &str, mounts: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        // 36 35 98:0 ROOT POINT options [optional fields] - TYPE source options
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        (kind.split(' ').next() == Some("cgroup2"))
            .then(|| Path::new(path).strip_prefix(root).ok())?
            .map(|rest| Path::new(point).join(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 20 0:25 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
31 20 0:26 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
";

    #[test]
    fn a_process_is_found_below_the_v2_mount_of_a_hybrid_machine() {
        let groups = "4:memory:/\n1:name=systemd:/x\n0::/user.slice/session-1.scope\n";
        let want = Path::new("/sys/fs/cgroup/unified/user.slice/session-1.scope");
        assert_eq!(find(groups, HYBRID).as_deref(), Some(want));
        assert_eq!(find("0::/\n", HYBRID), Some(PathBuf::from("/sys/fs/cgroup/unified/")));
    }

    #[test]
    fn a_mount_of_a_part_is_taken_only_for_what_is_in_it() {
        let part = "31 20 0:26 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(find("0::/docker/a/b\n", part), Some(PathBuf::from("/sys/fs/cgroup/b")));
        assert_eq!(find("0::/elsewhere\n", part), None);
    }

    #[test]
    fn without_cgroup_v2_there_is_none() {
        assert_eq!(find("1:cpu:/\n", HYBRID), None);
        assert_eq!(find("0::/\n", HYBRID.lines().next().expect("a line")), None);
    }
}
