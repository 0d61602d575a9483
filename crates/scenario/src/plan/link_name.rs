//! Names of links.

use std::fmt::{self, Display};
use std::sync::Arc;

/// Name of a link, such as `bottleneck`, `bottleneck.reverse`, `heavy.0.access`.
///
/// The links of users are named by what they have in common and a number: with 100,000 users, texts of their own would
/// be much of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkName {
    parts: Arc<[Box<str>; 2]>,
    /// Number of the user, between the parts.
    user: Option<u32>,
}

impl LinkName {
    /// Returns the name of a link of a group's user, such as `access.reverse`.
    pub(crate) fn of_user(group: &str, user: u32, line: &str) -> Self {
        let parts = Arc::new([format!("{group}.").into(), format!(".{line}").into()]);
        LinkName { parts, user: Some(user) }
    }

    /// Returns the name of this link of another user of the group.
    pub(crate) fn of_another(&self, user: u32) -> Self {
        LinkName { user: Some(user), ..self.clone() }
    }

    /// Returns the text, of a link that is no user's.
    ///
    /// # Panics
    ///
    /// If it is the link of a user.
    pub(crate) fn as_str(&self) -> &str {
        assert!(self.user.is_none(), "{self} is named by its user");
        &self.parts[0]
    }
}

impl From<String> for LinkName {
    fn from(name: String) -> Self {
        LinkName { parts: Arc::new([name.into(), Box::default()]), user: None }
    }
}

impl From<&str> for LinkName {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = &*self.parts;
        match self.user {
            None => f.write_str(before),
            Some(user) => write!(f, "{before}{user}{after}"),
        }
    }
}

impl PartialEq<str> for LinkName {
    fn eq(&self, other: &str) -> bool {
        match self.user {
            None => *self.parts[0] == *other,
            Some(_) => {
                let text = self.to_string();
                text == other
            }
        }
    }
}

impl PartialEq<&str> for LinkName {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_its_text() {
        let first = LinkName::of_user("heavy", 0, "access.reverse");
        let names = [LinkName::from("bottleneck"), first.clone(), first.of_another(12)];
        let texts = ["bottleneck", "heavy.0.access.reverse", "heavy.12.access.reverse"];
        for (name, text) in names.iter().zip(texts) {
            assert_eq!(name.to_string(), text);
            assert!(*name == text && *name != "heavy");
        }
        assert_eq!(size_of::<LinkName>(), 16);
    }
}
