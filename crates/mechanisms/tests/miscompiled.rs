//! Rust 1.95 omits `x += u64::from(a == B)` where `B` is a variant of an enum and the comparison is branched on as well
//! (rust-lang/rust, issue 158206). This test finds additions of an equality comparison, in any notation; `if a == B { x
//! += 1 }` is compiled correctly.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

const INTEGERS: [&str; 12] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// Returns the lines of a source text in which an equality comparison is added or subtracted as a number.
fn lines(source: &str) -> Vec<usize> {
    let mut found = Vec::new();
    look_through(source.parse().expect("Rust"), &mut found);
    found
}

fn look_through(tokens: TokenStream, found: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            look_through(group.stream(), found);
        }
        let assigns =
            (is(token, '+') || is(token, '-')) && tokens.get(i + 1).is_some_and(|t| is(t, '='));
        if assigns {
            let end = tokens[i..].iter().position(|token| is(token, ';') || is(token, ','));
            let right = &tokens[i + 2..end.map_or(tokens.len(), |length| i + length)];
            if (0..right.len()).any(|at| is_equality_as_number(&right[at..])) {
                found.push(token.span().start().line);
            }
        }
    }
}

/// Whether the tokens are `u64::from(a == b)` or `(a == b) as u64`.
fn is_equality_as_number(tokens: &[TokenTree]) -> bool {
    match tokens {
        [kind, one, other, from, TokenTree::Group(group), ..] => {
            (is_integer(kind)
                && is(one, ':')
                && is(other, ':')
                && from.to_string() == "from"
                && is_equality(group))
                || is_cast(tokens)
        }
        _ => is_cast(tokens),
    }
}

fn is_cast(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Group(group), cast, kind, ..]
        if is_equality(group) && cast.to_string() == "as" && is_integer(kind))
}

/// Whether a group is a comparison for equality at its outermost level.
fn is_equality(group: &Group) -> bool {
    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
    let compares =
        |pair: &[TokenTree]| (is(&pair[0], '=') || is(&pair[0], '!')) && is(&pair[1], '=');
    let matches = |pair: &[TokenTree]| pair[0].to_string() == "matches" && is(&pair[1], '!');
    group.delimiter() == Delimiter::Parenthesis
        && (inner.windows(2).any(|pair| compares(pair) || matches(pair))
            || matches!(&inner[..], [TokenTree::Group(inner)] if is_equality(inner)))
}

fn is_integer(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(name) if INTEGERS.iter().any(|kind| name == kind))
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[test]
fn the_form_is_found_however_it_is_written() {
    for refused in [
        "x += u64::from(a == B);",
        "x -= usize::from(a != B)",
        "self.counts[i].x += i32::from(a.b() == c::D && e);",
        "x += (a == B) as u64;",
        "x += 1 + u8::from((a == B));",
        "x += u32::from(matches!(a, B));",
        "some_macro! { |a| x += u64::from(a == B) }",
    ] {
        assert_eq!(lines(&format!("fn f() {{\n{refused}\n}}")), [2], "{refused}");
    }
    for allowed in [
        "if a == B { x += 1; }",
        "x += u64::from(a);",
        "x += u64::from(a >= 3);",
        "x += u64::from(list.iter().any(|a| a == B));",
        "x += 1; y = u64::from(a == B);",
        "x += if a == B { 2 } else { 3 };",
        "match a { A => x += 1, B => y(u64::from(a == b)) }",
        "// x += u64::from(a == B);",
        "let text = \"x += u64::from(a == B);\";",
    ] {
        assert_eq!(lines(&format!("fn f() {{\n{allowed}\n}}")), [0; 0], "{allowed}");
    }
}

#[test]
fn no_source_adds_a_comparison_for_equality() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    ["crates", "fuzz"].into_iter().for_each(|folder| collect(&root.join(folder), &mut sources));
    assert!(sources.len() > 100, "only {} sources", sources.len());
    let mut refused = Vec::new();
    for path in sources {
        let source = std::fs::read_to_string(&path).expect("readable");
        refused.extend(lines(&source).into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(refused.is_empty(), "write `if a == b {{ x += 1 }}` in\n{}", refused.join("\n"));
}

/// Collects Rust sources below a folder, without build directories.
fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push(path);
        }
    }
}
