//! What was in flight when authority was taken away: said to whoever takes it. What was sent may have happened.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    AccountId, ConnectionId, GrantId, OperationId, ProjectId, TaskId, TokenId,
    operation::OperationStateWord,
    records::{Operation, Task},
    task::TaskStateWord,
};
use serde::Serialize;
use std::collections::BTreeSet;

/// The most tasks of a project whose journals are looked into.
const TASKS: u32 = 100;
/// The most calls that are looked at in one session.
const CALLS: u32 = 200;

/// A call that was on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallInFlight {
    /// The operation.
    pub id: OperationId,
    /// Its task.
    pub task: TaskId,
    /// The connection's name.
    pub connection_name: String,
    /// The tool. Untrusted text.
    pub tool: String,
}

/// The calls that were on their way when something was revoked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InFlight {
    /// Those in projects that the caller may see.
    pub calls: Vec<CallInFlight>,
    /// How many there are in others.
    pub elsewhere: u64,
}

/// What was taken away.
#[derive(Clone, Copy, Debug)]
pub(super) enum Taken {
    /// A grant.
    Grant(GrantId),
    /// A connection.
    Connection(ConnectionId),
    /// An account, or its place in a project.
    Account(AccountId),
    /// A token.
    Token(TokenId),
}

impl Taken {
    fn concerns_task(self, task: &Task) -> bool {
        match self {
            Self::Grant(_) | Self::Connection(_) => true,
            Self::Account(account) => task.proposer == account,
            Self::Token(token) => task.token == token,
        }
    }

    fn concerns(self, operation: &Operation) -> bool {
        match self {
            Self::Grant(grant) => operation.grant == Some(grant),
            Self::Connection(connection) => operation.connection == Some(connection),
            Self::Account(_) | Self::Token(_) => true,
        }
    }
}

impl Engine {
    /// What is in flight at this moment under authority that was just taken. A journal that cannot be read is logged: the
    /// revocation stands in any case.
    pub(super) async fn in_flight(&self, who: &Principal, projects: &[ProjectId], taken: Taken) -> InFlight {
        let mut found = InFlight::default();
        for project in projects {
            if let Err(error) = self.in_flight_of(who, *project, taken, &mut found).await {
                tracing::warn!(%project, %error, "what is in flight could not be looked up");
            }
        }
        found
    }

    async fn in_flight_of(
        &self,
        who: &Principal,
        project: ProjectId,
        taken: Taken,
        found: &mut InFlight,
    ) -> Result<(), EngineError> {
        let mut sessions = BTreeSet::new();
        for state in [TaskStateWord::Running, TaskStateWord::StopRequested] {
            let tasks = self.ledger.tasks(project, Some(state), None, TASKS).await?.items;
            let concerned = tasks.into_iter().filter(|task| taken.concerns_task(task));
            sessions.extend(concerned.map(|task| (task.session, task.id)));
        }
        let sees = self.demand(who, project, Verb::OperationList).await.is_ok();
        for (session, task) in sessions {
            let open = self.stores.journal_reader(session).await?.open_operations(0, CALLS).await?.items;
            for one in open {
                let counts = one.task == task
                    && one.state.word() == OperationStateWord::InFlight
                    && taken.concerns(&one);
                match (counts, sees) {
                    (true, true) => found.calls.push(CallInFlight {
                        id: one.id,
                        task,
                        connection_name: one.connection_name,
                        tool: one.tool,
                    }),
                    (true, false) => found.elsewhere += 1,
                    (false, _) => {}
                }
            }
        }
        Ok(())
    }
}
