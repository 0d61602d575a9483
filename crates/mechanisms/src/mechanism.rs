//! What a mechanism says of itself: its names, its source, and what can be set.

use core::fmt;

use crate::parameters::Parameter;

/// One mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Where on a packet's path it stands.
    pub category: Category,
    /// Its name in scenario files, and of its page.
    pub name: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How a scenario file asks for it.
    pub usage: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Its file, below `crates/mechanisms/src/`.
    pub file: &'static str,
    /// The whole text of that file.
    text: &'static str,
}

/// Where on a packet's path a mechanism stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// In the sender: congestion controllers.
    Sender,
    /// At the network's edge, or anywhere else that is no queue: stages.
    Ingress,
    /// In front of a link: how congested it is.
    Bottleneck,
    /// On top of a bottleneck's signal: whose packet it falls on.
    Differentiation,
    /// Behind a queue: which packet leaves next.
    Scheduler,
}

impl Category {
    /// In the order in which a packet comes through.
    pub const ALL: [Category; 5] = [
        Category::Sender,
        Category::Ingress,
        Category::Bottleneck,
        Category::Differentiation,
        Category::Scheduler,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Sender => "sender",
            Category::Ingress => "ingress",
            Category::Bottleneck => "bottleneck",
            Category::Differentiation => "differentiation",
            Category::Scheduler => "scheduler",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a mechanism says of itself, beside its parameters.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name in scenario files, and of its page.
    pub name: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How a scenario file asks for it.
    pub usage: &'static str,
    /// Its file, below `crates/mechanisms/src/`.
    pub file: &'static str,
    /// The whole text of that file.
    pub text: &'static str,
}

impl Mechanism {
    /// The entry of a mechanism that declares itself.
    pub(crate) const fn declared(
        category: Category,
        about: About,
        parameters: &'static [Parameter],
    ) -> Self {
        let About { name, title, source, usage, file, text } = about;
        Mechanism { category, name, title, source, usage, parameters, file, text }
    }

    /// What its source file says about it: the `//!` comment at the top, as Markdown.
    pub fn header(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The first sentence of the header: what it does.
    pub fn summary(&self) -> String {
        let header = self.header();
        let paragraph = header.lines().take_while(|line| !line.is_empty());
        let text = paragraph.collect::<Vec<_>>().join(" ");
        let end = text.find(". ").unwrap_or(text.trim_end_matches('.').len());
        text[..end].to_owned()
    }
}
