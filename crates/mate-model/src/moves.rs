//! The legal moves of each machine, as data: what the schema's tables of moves hold.
//!
//! A test compares these lists with the moves that exploring `decide` finds, and another one with the rows
//! in both databases.

use crate::{
    approval::ApprovalStateWord as A, operation::OperationStateWord as O, round::RoundStateWord as R,
    session::SessionStateWord as S, task::TaskStateWord as T, turn::TurnStateWord as U,
};

/// Moves of a task. `running` and `stop_requested` may be claimed again, with a higher epoch.
pub const TASK: &[(T, T)] = &[
    (T::Proposed, T::Accepted),
    (T::Proposed, T::Rejected),
    (T::Accepted, T::Running),
    (T::Accepted, T::Stopped),
    (T::Accepted, T::Rejected),
    (T::Running, T::Running),
    (T::Running, T::StopRequested),
    (T::Running, T::Completed),
    (T::Running, T::Failed),
    (T::Running, T::Unknown),
    (T::StopRequested, T::StopRequested),
    (T::StopRequested, T::Stopped),
    (T::StopRequested, T::Completed),
    (T::StopRequested, T::Failed),
    (T::StopRequested, T::Unknown),
    (T::Unknown, T::Completed),
    (T::Unknown, T::Failed),
    (T::Unknown, T::Stopped),
];

/// Moves of a turn.
pub const TURN: &[(U, U)] = &[
    (U::Starting, U::Prompted),
    (U::Starting, U::Ended),
    (U::Prompted, U::Settling),
    (U::Prompted, U::Ended),
    (U::Settling, U::Ended),
];

/// Moves of an operation.
pub const OPERATION: &[(O, O)] = &[
    (O::Requested, O::Denied),
    (O::Requested, O::AwaitingApproval),
    (O::Requested, O::InFlight),
    (O::AwaitingApproval, O::Denied),
    (O::AwaitingApproval, O::Expired),
    (O::AwaitingApproval, O::Withdrawn),
    (O::AwaitingApproval, O::InFlight),
    (O::InFlight, O::Succeeded),
    (O::InFlight, O::Failed),
    (O::InFlight, O::NotSent),
    (O::InFlight, O::Unknown),
    (O::Unknown, O::Succeeded),
    (O::Unknown, O::Failed),
    (O::Unknown, O::Abandoned),
];

/// Moves of a round of a call that takes several.
pub const ROUND: &[(R, R)] = &[
    (R::InFlight, R::InputRequired),
    (R::InFlight, R::Over),
    (R::InputRequired, R::Continued),
    (R::InputRequired, R::Over),
];

/// Moves of an approval.
pub const APPROVAL: &[(A, A)] = &[
    (A::Open, A::Allowed),
    (A::Open, A::Denied),
    (A::Open, A::Expired),
    (A::Open, A::Withdrawn),
    (A::Allowed, A::Expired),
    (A::Allowed, A::Withdrawn),
    (A::Allowed, A::Used),
];

/// Moves of a session. `hosted` may be hosted again, with the next epoch, when its worker died.
pub const SESSION: &[(S, S)] =
    &[(S::Idle, S::Hosted), (S::Hosted, S::Hosted), (S::Hosted, S::Idle), (S::Idle, S::Closed)];
