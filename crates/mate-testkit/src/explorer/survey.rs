//! Every state of a machine against every command: the moves that `decide` makes, and how it refuses the rest.

use mate_model::{Refusal, Transition};
use std::collections::{BTreeMap, BTreeSet};

/// What a machine does.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The machine's name.
    pub name: &'static str,
    /// The words of its states, in their order.
    pub states: Vec<&'static str>,
    /// From which state to which, and by which commands.
    pub moves: BTreeMap<(usize, usize), BTreeSet<&'static str>>,
    /// Which commands are refused in which state, and as what.
    pub refusals: BTreeMap<(usize, &'static str), BTreeSet<&'static str>>,
    /// How many pairs of a state and a command were tried.
    pub tried: usize,
}

impl Survey {
    /// Whether no move leads out of this state.
    #[must_use]
    pub fn is_final(&self, state: usize) -> bool {
        self.moves.keys().all(|(from, _)| *from != state)
    }
}

/// Tries all commands in all states.
pub(super) fn survey<S, C: Clone>(
    name: &'static str,
    words: Vec<&'static str>,
    states: &[S],
    word: impl Fn(&S) -> &'static str,
    commands: &[(&'static str, C)],
    decide: impl Fn(&S, C) -> Result<Transition<S>, Refusal>,
) -> Survey {
    let mut survey =
        Survey { name, states: words, moves: BTreeMap::new(), refusals: BTreeMap::new(), tried: 0 };
    let place = |survey: &Survey, state: &S| {
        survey.states.iter().position(|known| *known == word(state)).unwrap_or(usize::MAX)
    };
    for state in states {
        for (label, command) in commands {
            survey.tried += 1;
            let from = place(&survey, state);
            match decide(state, command.clone()) {
                Ok(transition) => {
                    let to = place(&survey, transition.to());
                    survey.moves.entry((from, to)).or_default().insert(label);
                }
                Err(refusal) => {
                    survey.refusals.entry((from, kind(&refusal))).or_default().insert(label);
                }
            }
        }
    }
    survey
}

const fn kind(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Final { .. } => "final",
        Refusal::Already { .. } => "already",
        Refusal::NotNow { .. } => "not now",
        Refusal::Stale { .. } => "stale",
        Refusal::NoEvidence => "no evidence",
    }
}
