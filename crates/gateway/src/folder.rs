//! The folder in a bpffs in which everything is pinned, and whose it is.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::maps::Pins;

/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

/// Makes the folder of pins. Mounts a bpffs where the folder above should be one and is not.
///
/// # Errors
/// If there is no bpffs and none can be mounted.
pub fn make(pins: &Pins) -> Result<(), Error> {
    let folder = pins.folder();
    let shown = folder.display();
    let parent = folder.parent().unwrap_or(Path::new("/"));
    if !is_bpffs(folder) && !is_bpffs(parent) {
        fs::create_dir_all(parent).map_err(|error| Error::of(&format!("{shown}"), &error))?;
        let mounted = rustix::mount::mount(
            "bpf",
            parent,
            "bpf",
            rustix::mount::MountFlags::empty(),
            None::<&std::ffi::CStr>,
        );
        mounted.map_err(|error| {
            let error = io::Error::from(error);
            Error::of(
                &format!("{} is no bpffs and none can be mounted there", parent.display()),
                &error,
            )
        })?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::of(&format!("{shown}"), &error))
        }
        _ => Ok(()),
    }
}

fn is_bpffs(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == BPF_FS_MAGIC)
}

/// Gives the folder, the bpffs in which it is, and all that is pinned to a user.
///
/// # Errors
/// If there is no such user, or the kernel refuses.
pub fn give(pins: &Pins, user: &str) -> Result<(), Error> {
    let (uid, gid) = numbers(user, &fs::read_to_string("/etc/passwd").unwrap_or_default())
        .ok_or_else(|| Error::Failed(format!("there is no user {user}")))?;
    let folder = pins.folder();
    let pinned = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let mut all: Vec<_> = pinned.filter_map(|entry| Some(entry.ok()?.path())).collect();
    all.extend(folder.parent().map(Path::to_owned));
    all.push(folder.to_owned());
    for path in all {
        let given = std::os::unix::fs::chown(&path, Some(uid), Some(gid));
        given.map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::of(&path.display().to_string(), error)
}

/// Number and group of a user of passwd(5).
fn numbers(user: &str, passwd: &str) -> Option<(u32, u32)> {
    let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = fields.into_iter().find(|fields| fields.first() == Some(&user))?;
    Some((own.get(2)?.parse().ok()?, own.get(3)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\ntidegate:x:998:997::/:/bin/false\n";
        assert_eq!(numbers("tidegate", passwd), Some((998, 997)));
        assert_eq!(numbers("tide", passwd), None);
        assert_eq!(numbers("root", "root:x\n"), None);
    }
}
