//! System calls:
//!
//! ```text
//! +0...0.010 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
//!    │                              │  │           └ a note
//!    │                              │  └ errno
//!    │                              └ what it returns
//!    └ until when it blocks
//! ```

use super::{Parser, whole};
use crate::error::ScriptError;
use crate::lexer::TokenKind;
use crate::script::{Action, Arg, Call};

/// Maximum nesting depth of structures.
const DEEPEST: usize = 32;

impl Parser<'_> {
    pub(super) fn call(&mut self) -> Result<Action, ScriptError> {
        let blocks_until = if self.kind() == Some(&TokenKind::Ellipsis) {
            self.at += 1;
            Some(self.time()?)
        } else {
            None
        };
        let Some(TokenKind::Word(name)) = self.kind() else {
            return self.expected("the name of a system call");
        };
        self.at += 1;
        self.sign('(')?;
        let args = self.list(')', 0)?;
        self.sign('=')?;
        let result = self.argument(0)?;
        let mut errno = None;
        if let Some(TokenKind::Word(word)) = self.kind() {
            errno = Some(word.clone());
            self.at += 1;
        }
        if self.take_sign('(') {
            while !self.take_sign(')') {
                if self.next().is_none() {
                    return self.expected("\")\" after a note");
                }
            }
        }
        Ok(Action::Call(Call { name: name.clone(), args, blocks_until, result, errno }))
    }

    fn list(&mut self, close: char, depth: usize) -> Result<Vec<Arg>, ScriptError> {
        let mut list = Vec::new();
        while !self.take_sign(close) {
            list.push(self.argument(depth)?);
            if !self.has_sign(close) {
                self.sign(',')?;
            }
        }
        Ok(list)
    }

    fn argument(&mut self, depth: usize) -> Result<Arg, ScriptError> {
        if depth > DEEPEST {
            return Err(ScriptError::new(self.line(), "too many structures within each other"));
        }
        let mut arg = self.simple(depth)?;
        loop {
            if self.take_sign('|') {
                let more = self.simple(depth)?;
                arg = match (arg, more) {
                    (Arg::Names(mut names), Arg::Names(more)) => {
                        names.extend(more);
                        Arg::Names(names)
                    }
                    (arg, more) => Arg::Other(format!("{arg}|{more}")),
                };
            } else if depth > 0 && self.take_sign('=') {
                let value = self.argument(depth + 1)?;
                arg = Arg::Other(format!("{arg}={value}"));
            } else {
                return Ok(arg);
            }
        }
    }

    fn simple(&mut self, depth: usize) -> Result<Arg, ScriptError> {
        let Some(kind) = self.kind() else { return self.expected("an argument") };
        self.at += 1;
        Ok(match kind {
            TokenKind::Ellipsis => Arg::Any,
            TokenKind::Number(digits) => match whole(digits) {
                Some(number) => Arg::Number(number),
                None => Arg::Other(digits.clone()),
            },
            TokenKind::Sign('-') => Arg::Number(-self.number::<i64>("a number")?),
            TokenKind::Text(text) => {
                // `"text"...`: the rest is arbitrary.
                if self.kind() == Some(&TokenKind::Ellipsis) {
                    self.at += 1;
                }
                Arg::Text(text.clone())
            }
            TokenKind::Word(name) if self.take_sign('(') => {
                self.list(')', depth + 1)?;
                Arg::Other(name.clone())
            }
            TokenKind::Word(name) => Arg::Names(vec![name.clone()]),
            TokenKind::Sign('[') => Arg::List(self.list(']', depth + 1)?),
            TokenKind::Sign('{') => {
                self.list('}', depth + 1)?;
                Arg::Other("a structure".to_owned())
            }
            _ => {
                self.at -= 1;
                return self.expected("an argument: a number, a name, text, ..., [ or {");
            }
        })
    }
}
