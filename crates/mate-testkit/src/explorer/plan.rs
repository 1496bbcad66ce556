//! Which explorations are made: the list that the tests run and the document shows.

use super::config::{Config, Flaw, Stores, Tool};
use mate_model::words::EffectClass;

const EFFECT: Tool = Tool { class: EffectClass::Effect, approval: false };
const READ: Tool = Tool { class: EffectClass::Read, approval: false };
const WITH_LEAVE: Tool = Tool { class: EffectClass::Effect, approval: true };

/// A name and what is explored under it.
pub type Exploration = (&'static str, Config);

/// The explorations in which nothing may be wrong.
#[must_use]
pub fn explorations() -> Vec<Exploration> {
    let mixed = [READ, WITH_LEAVE];
    vec![
        ("embedded: two effects, three crashes", Config::new(Stores::Embedded).with_faults(3, 0)),
        ("embedded: two effects, a crash and a freeze", Config::new(Stores::Embedded).with_faults(1, 1)),
        (
            "embedded: two effects, all wishes and answers, a crash",
            Config::new(Stores::Embedded).with_faults(1, 0).in_full(),
        ),
        (
            "embedded: a read and an effect with leave, all wishes and answers, a crash",
            Config::new(Stores::Embedded).with_tools(mixed).with_faults(1, 0).in_full(),
        ),
        (
            "embedded: two effects, evidence from people and late answers, a crash",
            Config::new(Stores::Embedded).with_faults(1, 0).resolving(),
        ),
        (
            "shared: an effect and a read, evidence from people and late answers, a freeze",
            Config::new(Stores::Shared).with_tools([EFFECT, READ]).with_faults(0, 1).resolving(),
        ),
        ("shared: two effects, a crash and a freeze", Config::new(Stores::Shared).with_faults(1, 1)),
        (
            "shared: two effects, all wishes and answers, a freeze",
            Config::new(Stores::Shared).with_faults(0, 1).in_full(),
        ),
        (
            "shared: a read and an effect with leave, a freeze",
            Config::new(Stores::Shared).with_tools(mixed).with_faults(0, 1),
        ),
        (
            "shared: an effect and an effect with leave, a freeze",
            Config::new(Stores::Shared).with_tools([EFFECT, WITH_LEAVE]).with_faults(0, 1),
        ),
    ]
}

/// The exploration that has to notice a flaw, and what it has to call it.
#[must_use]
pub fn flawed(flaw: Flaw) -> (Config, &'static str) {
    let crash = Config::new(Stores::Embedded).with_faults(1, 0).with_flaw(flaw);
    let freeze = Config::new(Stores::Shared).with_faults(0, 1).with_flaw(flaw);
    match flaw {
        Flaw::DispatchBeforeIntent => (crash, "a call was sent without a committed intent"),
        Flaw::NoSecondRead => {
            (crash.in_full(), "a call was sent whose authority had ended before its intent")
        }
        Flaw::NoJournalFence | Flaw::NoLedgerFence => (freeze, "a stale epoch wrote"),
        // Without a fault: the container lives, and no runtime died of itself.
        Flaw::StopWithoutEvidence => {
            (crash.with_faults(0, 0), "a task is stopped without evidence in the journal")
        }
        Flaw::EvidenceWithoutEnding => (crash.with_faults(0, 0), "a task is stopped and its container lives"),
        Flaw::StopFirstKeepsContainer | Flaw::RecoverWithoutEmptying => {
            (crash, "a task is stopped and its container lives")
        }
        Flaw::DispatchAgain => (crash, "a call was sent twice"),
        Flaw::PromptAgain => (crash, "a prompt was sent twice"),
        Flaw::LostIsNotSent | Flaw::CloseWithoutSettling => {
            (crash, "an operation's state contradicts what happened")
        }
        Flaw::LeaveNotUsed => {
            (crash.with_tools([EFFECT, WITH_LEAVE]), "a call was sent without a leave that was used")
        }
        Flaw::KeeperWithoutDeadline => (freeze, "a prompt was sent without its intent"),
        Flaw::EndedTurnWithoutEvidence => {
            (crash, "a moment from which no step of the protocol leads to an end")
        }
        Flaw::LateIntoJournal => {
            (crash.with_faults(0, 0), "the journal has evidence that the ledger has not")
        }
        Flaw::LastEvidenceWins => (crash.with_faults(0, 0).resolving(), "a resolution was changed"),
        Flaw::AppliedBeforeCopied => {
            (crash.with_faults(0, 0), "the journal does not follow the resolution that stands")
        }
        Flaw::SettleTooEarly => (crash.resolving(), "a task failed while something is open"),
        Flaw::SettleForgotten => (crash, "a moment from which no step of the protocol leads to an end"),
        Flaw::StaleWorkerStays => (freeze, "a moment from which no step of the protocol leads to an end"),
    }
}
