//! How deep a text may go before it is parsed: a parser that calls itself for each level runs out of stack, and takes the
//! program with it.

/// The most levels of brackets and of `else` branches.
const MOST_LEVELS: usize = 40;

/// The most characters of operators in one statement: each operator may be a level of what is made of the text.
const MOST_OPERATORS: usize = 1_000;

/// Where a text goes too deep, as an offset in bytes, and why.
pub(super) fn too_deep(text: &str) -> Option<(usize, &'static str)> {
    let (mut levels, mut branches, mut operators) = (0_usize, 0_usize, 0_usize);
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => {
                while let Some((_, c)) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek().is_some_and(|(_, next)| *next == '/') => {
                while rest.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            '(' | '[' | '{' => levels += 1,
            ')' | ']' | '}' => levels = levels.saturating_sub(1),
            ';' => (operators, branches) = (0, 0),
            '&' | '|' | '+' | '-' | '*' | '!' | '.' | '=' | '<' | '>' => operators += 1,
            // Each `else` goes a level deeper than the one before.
            'e' if text.get(at..).is_some_and(|rest| rest.starts_with("else")) => branches += 1,
            _ => {}
        }
        if levels + branches > MOST_LEVELS {
            return Some((at, "its brackets and `else` branches are nested more than 40 deep"));
        }
        if operators > MOST_OPERATORS {
            return Some((at, "the statement is too long: split it"));
        }
    }
    None
}
