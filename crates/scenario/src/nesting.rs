//! How many keys lead to a value.
//!
//! The TOML reader bounds brackets within brackets and the parts of a dotted key, each to 80, but not what both make
//! together: 80 inline tables, each under a key of 80 parts, are 6,400 tables inside one another. To build and to drop
//! those takes more stack than a thread has. So they are counted first.

use toml_parser::parser::{EventReceiver, RecursionGuard, parse_document};
use toml_parser::{ErrorSink, Source, Span, decoder::Encoding};

/// So many keys may lead to a value, and so many brackets stand around it.
pub(crate) const MAX_DEPTH: u32 = 80;

/// The place, in bytes, of the first key that stands deeper.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let tokens = Source::new(text).lex().into_vec();
    let mut keys = Keys::default();
    parse_document(&tokens, &mut RecursionGuard::new(&mut keys, MAX_DEPTH), &mut ());
    keys.too_deep
}

/// The keys that lead to where the reader is.
#[derive(Default)]
struct Keys {
    /// Parts of the keys before each bracket that is open.
    outside: Vec<u32>,
    /// Those of the innermost.
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
