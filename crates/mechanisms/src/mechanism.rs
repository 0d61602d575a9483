//! Self-description of a mechanism: names, source, and parameters.

use core::fmt;

use crate::parameters::Parameter;

/// Text of a source file, whose header is a mechanism's page. Empty in WebAssembly, which does not use it and whose every
/// byte is downloaded.
macro_rules! source_text {
    ($file:literal) => {
        if cfg!(target_arch = "wasm32") { "" } else { include_str!($file) }
    };
}
pub(crate) use source_text;

/// One mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Category, by its place on a packet's path.
    pub category: Category,
    /// Name in scenario files, and of its page.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Example for a scenario file.
    pub usage: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Source file, below `crates/mechanisms/src/`.
    pub file: &'static str,
    /// Text of the source file.
    text: &'static str,
}

/// Place of a mechanism on a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// In the sender: congestion controllers.
    Sender,
    /// At the network's edge, or any other place that is no queue: stages.
    Ingress,
    /// At the queue of a link: how congested it is.
    Bottleneck,
    /// On top of a bottleneck's signal: whose packet gets it.
    Differentiation,
    /// At a queue's output: which packet leaves next.
    Scheduler,
}

impl Category {
    /// Categories in the order of a packet's path.
    pub const ALL: [Category; 5] = [
        Category::Sender,
        Category::Ingress,
        Category::Bottleneck,
        Category::Differentiation,
        Category::Scheduler,
    ];

    /// Returns its name.
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

/// Self-description of a mechanism without its parameters.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name in scenario files, and of its page.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Example for a scenario file.
    pub usage: &'static str,
    /// Source file, below `crates/mechanisms/src/`.
    pub file: &'static str,
    /// Text of the source file.
    pub text: &'static str,
}

impl Mechanism {
    /// Returns the registry entry of a mechanism that declares itself.
    pub(crate) const fn declared(
        category: Category,
        about: About,
        parameters: &'static [Parameter],
    ) -> Self {
        let About { name, title, source, usage, file, text } = about;
        Mechanism { category, name, title, source, usage, parameters, file, text }
    }

    /// Returns the `//!` comment at the top of its source file, as Markdown.
    pub fn header(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the first sentence of the header.
    pub fn summary(&self) -> String {
        let header = self.header();
        let paragraph = header.lines().take_while(|line| !line.is_empty());
        let text = paragraph.collect::<Vec<_>>().join(" ");
        let end = text.find(". ").unwrap_or(text.trim_end_matches('.').len());
        text[..end].to_owned()
    }
}
