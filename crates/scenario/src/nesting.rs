//! Limit of nesting depth.
//!
//! The TOML reader limits nested brackets and the parts of a dotted key to 80 each, but not their combination: 80
//! inline tables, each under a key of 80 parts, are 6,400 nested tables. Building and dropping those exceeds a thread's
//! stack. The depth is therefore checked first.

use toml_parser::parser::{EventReceiver, RecursionGuard, parse_document};
use toml_parser::{ErrorSink, Source, Span, decoder::Encoding};

/// Maximum number of keys on the path to a value, and of brackets around it.
pub(crate) const MAX_DEPTH: u32 = 80;

/// Returns the byte offset of the first key beyond the limit.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let tokens = Source::new(text).lex().into_vec();
    let mut keys = Keys::default();
    parse_document(&tokens, &mut RecursionGuard::new(&mut keys, MAX_DEPTH), &mut ());
    keys.too_deep
}

/// Keys on the path to the current position.
#[derive(Default)]
struct Keys {
    /// Number of key parts before each open bracket.
    outside: Vec<u32>,
    /// Number of key parts within the innermost bracket.
    inside: u32,
    too_deep: Option<usize>,
}

impl Keys {
    fn open(&mut self) -> bool {
        self.outside.push(self.inside);
        self.inside = 0;
        self.too_deep.is_none()
    }
    fn close(&mut self) {
        self.inside = self.outside.pop().unwrap_or(0);
    }
}

impl EventReceiver for Keys {
    fn simple_key(&mut self, span: Span, _: Option<Encoding>, _: &mut dyn ErrorSink) {
        self.inside += 1;
        if self.outside.iter().sum::<u32>() + self.inside > MAX_DEPTH {
            self.too_deep.get_or_insert(span.start());
        }
    }
    fn inline_table_open(&mut self, _: Span, _: &mut dyn ErrorSink) -> bool {
        self.open()
    }
    fn array_open(&mut self, _: Span, _: &mut dyn ErrorSink) -> bool {
        self.open()
    }
    fn inline_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }
    fn array_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }
    fn value_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.inside = 0;
    }
    fn newline(&mut self, _: Span, _: &mut dyn ErrorSink) {
        if self.outside.is_empty() {
            self.inside = 0;
        }
    }
}
