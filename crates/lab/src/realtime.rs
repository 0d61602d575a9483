//! Priority for the threads that must not wait.

/// Priority of the thread that delivers packets.
pub const FORWARDER: i32 = 20;
/// Priority of the applications: hosts that stall while other programs run would not be those of the scenario.
pub const APPLICATIONS: i32 = 10;

/// Gives the calling thread a real-time priority, but not threads and programs that it starts. Returns whether that was
/// permitted.
#[allow(unsafe_code)]
pub fn take_priority(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the pointer is to a live value of the type that the call expects.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

/// Asks the kernel to end this process with its parent, for any reason. Returns false if the parent has already ended.
pub fn end_with_parent() -> bool {
    let parent = rustix::process::getppid();
    let asked =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    asked.is_ok() && rustix::process::getppid() == parent
}

/// Returns the CPU time of the calling thread so far, in seconds.
pub fn thread_cpu_s() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
}
