//! Lists of options in a header: each has a type, a length and data.

use crate::WireError;

/// Encoding of the options in a header.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Type of the one-byte padding, which has no length.
    single: u8,
    /// Type that ends the list, if any.
    end: Option<u8>,
    /// Number of bytes of an option that its length does not count.
    uncounted: usize,
}

/// IPv6 (RFC 8200, section 4.2): the length counts the data only; the list ends with its header.
pub(crate) const IPV6: Layout = Layout { single: 0, end: None, uncounted: 2 };
/// IPv4 and TCP (RFC 791, section 3.1; RFC 9293, section 3.1): the length counts type and length.
pub(crate) const COUNTED: Layout = Layout { single: 1, end: Some(0), uncounted: 0 };

/// Returns the options of `header` from byte `at` on, each with its offset and its bytes: type, length and data. Ends
/// after the first error.
pub(crate) fn options(
    header: &[u8],
    at: usize,
    layout: Layout,
) -> impl Iterator<Item = Result<(usize, &[u8]), WireError>> {
    let mut next = at;
    std::iter::from_fn(move || {
        while header.get(next) == Some(&layout.single) {
            next += 1;
        }
        let at = next;
        if Some(*header.get(at)?) == layout.end {
            return None;
        }
        let option = option(header, at, layout.uncounted);
        next = option.as_ref().map_or(header.len(), |option| at + option.len());
        Some(option.map(|option| (at, option)))
    })
}

/// Returns the only option that `is_ours`, and its offset; a second one is an error.
pub(crate) fn only(
    header: &[u8],
    at: usize,
    layout: Layout,
    is_ours: impl Fn(&[u8]) -> bool,
) -> Result<Option<usize>, WireError> {
    let mut found = None;
    for option in options(header, at, layout) {
        let (at, option) = option?;
        if is_ours(option) && found.replace(at).is_some() {
            return Err(WireError::RepeatedOption { at });
        }
    }
    Ok(found)
}

/// Returns the option at byte `at`, which has a length.
fn option(header: &[u8], at: usize, uncounted: usize) -> Result<&[u8], WireError> {
    let overrun = WireError::OptionOverrun { at };
    let len = usize::from(*header.get(at + 1).ok_or(overrun)?) + uncounted;
    if len < 2 {
        return Err(WireError::OptionTooShort { at, len });
    }
    header.get(at..at + len).ok_or(overrun)
}
