//! Breadth first over all moments: the shortest way to whatever is wrong, and who can still get home.

use super::{
    config::Config,
    hash::FastMap,
    report::{Cut, Report, Violation, word_bit},
    state::{Coordinator, Life, NONE, State},
    walk::{Next, Walk, Who},
};
use mate_model::{operation::OperationStateWord, task::TaskStateWord};
use std::collections::BTreeMap;

/// Set in a mask when a moment is home: the task ended or unknown, the session given back.
const HOME: u16 = 1 << 15;

/// Explores everything that can be reached; stops at the first thing that is wrong.
///
/// # Panics
/// When the exploration outgrows its limit: then it proves nothing.
#[must_use]
pub fn explore(config: Config) -> Report {
    let mut search = Search::new(config);
    match search.run() {
        Some(violation) => search.report(Some(violation), BTreeMap::new()),
        None => {
            let masks = search.masks();
            let stuck = masks.iter().position(|mask| mask & HOME == 0).map(|number| Violation {
                what: "a moment from which no step of the protocol leads to an end".to_owned(),
                trace: search.trace(number),
            });
            let cuts = search.cuts(&masks);
            search.report(stuck, cuts)
        }
    }
}

#[derive(Debug)]
struct Search {
    walk: Walk,
    states: Vec<State>,
    numbers: FastMap<State, u32>,
    parents: Vec<u32>,
    /// Protocol steps: the targets of state `n` are `targets[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    targets: Vec<u32>,
    steps: u64,
}

impl Search {
    fn new(config: Config) -> Self {
        let mut search = Self {
            walk: Walk::new(config),
            states: Vec::new(),
            numbers: FastMap::default(),
            parents: Vec::new(),
            starts: vec![0],
            targets: Vec::new(),
            steps: 0,
        };
        search.add(State::first(config.crashes, config.freezes), 0);
        search
    }

    fn add(&mut self, state: State, parent: u32) -> u32 {
        let next = small(self.states.len());
        let number = *self.numbers.entry(state).or_insert(next);
        if number == next {
            self.states.push(state);
            self.parents.push(parent);
        }
        number
    }

    fn run(&mut self) -> Option<Violation> {
        let mut at = 0;
        while let Some(state) = self.states.get(at).copied() {
            if let Some(what) = self.walk.wrong(&state) {
                return Some(Violation { what: what.to_owned(), trace: self.trace(at) });
            }
            self.walk.look_from(&state);
            let found = std::mem::take(&mut self.walk.found);
            for next in &found {
                self.steps += 1;
                let number = self.add(next.state, small(at));
                if let Some(what) = self.walk.wrong_step(&state, &next.state) {
                    let mut trace = self.trace(at);
                    trace.push(self.line(next));
                    return Some(Violation { what: what.to_owned(), trace });
                }
                let approves = next.who == Who::Person && self.walk.task(&state) == TaskStateWord::Proposed;
                if (next.is_protocol() || approves) && number != small(at) {
                    self.targets.push(number);
                }
            }
            self.walk.found = found;
            self.starts.push(small(self.targets.len()));
            assert!(self.states.len() < self.walk.config.limit, "the exploration outgrew its limit");
            at += 1;
        }
        None
    }

    fn line(&self, next: &Next) -> String {
        let who = match next.who {
            Who::Worker(epoch) => format!("worker of epoch {epoch}"),
            Who::Coordinator => "coordinator".to_owned(),
            Who::Runtime => "runtime".to_owned(),
            Who::Upstream(call) => format!("upstream of call {}", call + 1),
            Who::Person => "a person".to_owned(),
            Who::Fault => "fault".to_owned(),
        };
        let state = &next.state;
        let turn = self.walk.turn(state).map_or("no turn", |word| word.as_str());
        let operation = |call| self.walk.operation(state, call).as_str();
        format!(
            "{who}: {} -> task {}, turn {turn}, calls {} and {}",
            next.what,
            self.walk.task(state),
            operation(0),
            operation(1)
        )
    }

    /// The shortest way to a state, a line per step.
    fn trace(&mut self, to: usize) -> Vec<String> {
        let mut way = vec![to];
        let mut at = to;
        while at != 0 {
            at = self.parents[at] as usize;
            way.push(at);
        }
        way.reverse();
        let mut lines = Vec::new();
        for pair in way.windows(2) {
            let (from, to) = (self.states[pair[0]], self.states[pair[1]]);
            self.walk.look_from(&from);
            let next = self.walk.found.iter().find(|next| next.state == to).copied();
            lines.extend(next.map(|next| self.line(&next)));
        }
        lines
    }

    /// For each state: which ends the protocol alone can reach from it, and whether it gets home.
    fn masks(&self) -> Vec<u16> {
        let mut masks: Vec<u16> = self.states.iter().map(|state| self.own_mask(state)).collect();
        loop {
            let mut changed = false;
            for number in (0..masks.len()).rev() {
                let (from, to) = (self.starts[number] as usize, self.starts[number + 1] as usize);
                let concluded = masks[number] & !HOME != 0 && self.concluded(&self.states[number]);
                let mut mask = masks[number];
                for target in &self.targets[from..to] {
                    let theirs = masks[*target as usize];
                    mask |= if concluded { theirs & HOME } else { theirs };
                }
                changed |= mask != masks[number];
                masks[number] = mask;
            }
            if !changed {
                return masks;
            }
        }
    }

    fn concluded(&self, state: &State) -> bool {
        let word = self.walk.task(state);
        word.is_final() || word == TaskStateWord::Unknown
    }

    fn own_mask(&self, state: &State) -> u16 {
        if !self.concluded(state) {
            return 0;
        }
        let settled = state.workers.iter().all(|worker| worker.life == Life::Absent)
            && state.coordinator == Coordinator::Idle
            && !self.walk.session(state).1
            && self.walk.in_flight(state) == 0
            && !self.walk.leave_is_open(state)
            && !self.walk.is_to_be_settled(state)
            && state.found.iter().all(|found| found.verdict.is_none() || found.applied);
        word_bit(self.walk.task(state)) | if settled { HOME } else { 0 }
    }

    /// Where each cut leads: moments in which nothing of the session lives and its task is claimed.
    fn cuts(&self, masks: &[u16]) -> BTreeMap<Cut, u16> {
        let mut cuts = BTreeMap::new();
        for (state, mask) in self.states.iter().zip(masks) {
            let task = self.walk.task(state);
            let dead = state.workers.iter().all(|worker| worker.life == Life::Absent);
            if !dead || !matches!(task, TaskStateWord::Running | TaskStateWord::StopRequested) {
                continue;
            }
            let words: [OperationStateWord; 2] = [0, 1].map(|call| self.walk.operation(state, call));
            let cut = Cut {
                task,
                turn: self.walk.turn(state),
                end: if state.turn == NONE { None } else { self.walk.over(state).map(|over| over.word()) },
                in_flight: words.contains(&OperationStateWord::InFlight),
                unknown: (0..2).any(|call| self.walk.is_unsettled(state, call)),
            };
            *cuts.entry(cut).or_insert(0) |= mask & !HOME;
        }
        cuts
    }

    fn report(&self, violation: Option<Violation>, cuts: BTreeMap<Cut, u16>) -> Report {
        Report {
            config: self.walk.config,
            states: self.states.len(),
            steps: self.steps,
            violation,
            cuts,
            late_sends: self.walk.late_sends,
        }
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
