//! What can be asked of Agent Mate, and who may: the one table of verbs and roles.
//!
//! Every route names its verb, and every use case demands one. `docs/access.md` shows this table. A new verb is a line
//! here; `UPDATE=1 cargo test -p mate-engine verb` writes it into the page.

use mate_model::words::Role;
use std::fmt;

/// Who may do what a verb says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Anybody with a token; what it shows or changes is the caller's own.
    Token,
    /// Anybody with a token that is not limited to a project or a role; what it changes is the caller's own.
    WholeToken,
    /// Anybody who has at least this role in some project, and account administrators.
    Somewhere(Role),
    /// A member of the project with at least this role.
    Role(Role),
    /// An account administrator, with a token that is not limited to a project or a role.
    Administrator,
}

impl Needs {
    /// It, in words, for who does not have it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Token => "a token",
            Self::WholeToken => "a token that is not limited to a project or a role",
            Self::Somewhere(role) | Self::Role(role) => role.as_str(),
            Self::Administrator => "account administrator",
        }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

macro_rules! verbs {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal, $needs:expr;)+) => {
        /// Something that can be asked. Its word is `noun.verb`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verb { $($(#[doc = $doc])+ $variant),+ }

        impl Verb {
            /// Every verb, noun by noun.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Who may.
            #[must_use]
            pub const fn needs(self) -> Needs {
                use Needs::{Administrator, Somewhere, Token, WholeToken};
                const VIEWER: Needs = Needs::Role(Role::Viewer);
                const OPERATOR: Needs = Needs::Role(Role::Operator);
                const OWNER: Needs = Needs::Role(Role::Owner);
                match self { $(Self::$variant => $needs),+ }
            }

            /// What it does, in words.
            #[must_use]
            pub fn says(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim()),+ }
            }
        }
    };
}

verbs! {
    /// Adds an account.
    AccountAdd = "account.add", Administrator;
    /// Lists the accounts.
    AccountList = "account.list", Administrator;
    /// Shows an account: one's own, or any to an administrator.
    AccountShow = "account.show", Token;
    /// Disables an account.
    AccountDisable = "account.disable", Administrator;
    /// Enables an account again.
    AccountEnable = "account.enable", Administrator;

    /// Makes a token of one's own, or for any account as an administrator; never one that can do more than oneself.
    TokenAdd = "token.add", WholeToken;
    /// Lists one's own tokens, or any account's as an administrator.
    TokenList = "token.list", Token;
    /// Revokes a token of one's own, or any as an administrator. A limited token revokes only itself.
    TokenRevoke = "token.revoke", Token;

    /// Makes a link that signs one browser in, once, to act by the caller's token.
    BrowserOpen = "browser.open", Token;

    /// Adds a project; who adds it is its first owner.
    ProjectAdd = "project.add", Administrator;
    /// Lists one's own projects.
    ProjectList = "project.list", Token;
    /// Shows a project.
    ProjectShow = "project.show", VIEWER;
    /// Reads the events of a project's ledger, also as a stream.
    ProjectEvents = "project.events", VIEWER;
    /// Changes how a project is worked in.
    ProjectSet = "project.set", OWNER;
    /// Archives a project.
    ProjectArchive = "project.archive", OWNER;

    /// Lists a project's members.
    MemberList = "member.list", VIEWER;
    /// Makes an account a member, or changes its role.
    MemberSet = "member.set", OWNER;
    /// Removes a member.
    MemberRemove = "member.remove", OWNER;

    /// Adds a runtime.
    RuntimeAdd = "runtime.add", Administrator;
    /// Lists the runtimes; how they are launched is for administrators.
    RuntimeList = "runtime.list", Somewhere(Role::Viewer);
    /// Shows a runtime; how it is launched is for administrators.
    RuntimeShow = "runtime.show", Somewhere(Role::Viewer);
    /// Removes a runtime.
    RuntimeRemove = "runtime.remove", Administrator;

    /// Adds a connection.
    ConnectionAdd = "connection.add", Administrator;
    /// Lists the connections, without their secrets.
    ConnectionList = "connection.list", Somewhere(Role::Owner);
    /// Shows a connection, without its secrets.
    ConnectionShow = "connection.show", Somewhere(Role::Owner);
    /// Connects as a session would, and says what is wrong.
    ConnectionCheck = "connection.check", Somewhere(Role::Owner);
    /// Connects, and lists the tools that are offered.
    ConnectionTools = "connection.tools", Somewhere(Role::Owner);
    /// Changes what is set on a connection.
    ConnectionSet = "connection.set", Administrator;
    /// Replaces secrets of a connection.
    ConnectionRotate = "connection.rotate", Administrator;
    /// Authorises a connection with OAuth.
    ConnectionAuthorize = "connection.authorize", Administrator;
    /// Removes a connection.
    ConnectionRemove = "connection.remove", Administrator;

    /// Grants tools of a connection to a project.
    GrantAdd = "grant.add", OWNER;
    /// Lists the grants of a project, or of one's projects.
    GrantList = "grant.list", VIEWER;
    /// Shows a grant.
    GrantShow = "grant.show", VIEWER;
    /// Accepts what has changed of the definitions of a grant's tools.
    GrantRenew = "grant.renew", OWNER;
    /// Revokes a grant.
    GrantRevoke = "grant.revoke", OWNER;

    /// Adds a policy.
    PolicyAdd = "policy.add", Administrator;
    /// Lists the policies.
    PolicyList = "policy.list", Administrator;
    /// Shows a policy.
    PolicyShow = "policy.show", Administrator;
    /// Says whether a text could be added as a policy.
    PolicyCheck = "policy.check", Administrator;
    /// Removes a policy.
    PolicyRemove = "policy.remove", Administrator;
    /// Says which grants and policies decided about an operation, and what they would decide now.
    PolicyExplain = "policy.explain", VIEWER;
    /// Says what would be decided now of a call that nobody has made.
    PolicyTry = "policy.try", VIEWER;

    /// Submits a task, approved at once if asked to.
    TaskAdd = "task.add", OPERATOR;
    /// Lists a project's tasks.
    TaskList = "task.list", VIEWER;
    /// Shows a task.
    TaskShow = "task.show", VIEWER;
    /// Reads a task's events, also as a stream.
    TaskEvents = "task.events", VIEWER;
    /// Follows the ledgers of projects and the journals of tasks in one stream.
    StreamFollow = "stream.follow", Somewhere(Role::Viewer);
    /// Shows a task's report.
    TaskReport = "task.report", VIEWER;
    /// Approves a proposed task.
    TaskApprove = "task.approve", OPERATOR;
    /// Rejects a task, or withdraws its approval before it starts.
    TaskReject = "task.reject", OPERATOR;
    /// Asks a task to stop.
    TaskStop = "task.stop", OPERATOR;
    /// Ends a task's processes at once.
    TaskKill = "task.kill", OPERATOR;
    /// Continues a task that has ended by a new one.
    TaskResume = "task.resume", OPERATOR;
    /// Says what the runtime's own uncertain act came to.
    TaskResolve = "task.resolve", OPERATOR;

    /// Lists the operations of a task, a project, or of one's projects.
    OperationList = "operation.list", VIEWER;
    /// Shows an operation.
    OperationShow = "operation.show", VIEWER;
    /// Says what an uncertain operation came to.
    OperationResolve = "operation.resolve", OPERATOR;
    /// Looks for what an uncertain operation came to, by its connection's recipe.
    OperationVerify = "operation.verify", OPERATOR;

    /// Lists what waits for a person's leave, in a project or in one's projects.
    ApprovalList = "approval.list", VIEWER;
    /// Shows an approval: the exact request, and what was answered.
    ApprovalShow = "approval.show", VIEWER;
    /// Allows or denies one exact request.
    ApprovalAnswer = "approval.answer", OPERATOR;
    /// Takes leave back that was not used, or that was given for the rest of a task.
    ApprovalRevoke = "approval.revoke", OPERATOR;

    /// Lists the artifacts of a project or a task.
    ArtifactList = "artifact.list", VIEWER;
    /// Shows what is known of an artifact.
    ArtifactShow = "artifact.show", VIEWER;
    /// Fetches an artifact's content.
    ArtifactGet = "artifact.get", VIEWER;
    /// Makes an artifact of a file in a task's workspace.
    ArtifactPublish = "artifact.publish", OPERATOR;
    /// Removes an artifact's content.
    ArtifactRemove = "artifact.remove", OWNER;

    /// Lists the sessions of a project, or of one's projects.
    SessionList = "session.list", VIEWER;
    /// Shows a session.
    SessionShow = "session.show", VIEWER;
    /// Closes a session.
    SessionClose = "session.close", OPERATOR;

    /// Lists what the coordinator could not look after.
    AsideList = "set_aside.list", Administrator;
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The table as a page shows it.
#[must_use]
pub fn table() -> String {
    let mut page = String::from(
        "| verb | viewer | operator | owner | account administrator | what it does |\n|---|---|---|---|---|---|\n",
    );
    for verb in Verb::ALL {
        let cells = match verb.needs() {
            Needs::Token | Needs::WholeToken => ["own", "own", "own", "own"],
            Needs::Somewhere(Role::Viewer) => ["yes"; 4],
            Needs::Somewhere(Role::Operator) => ["", "yes", "yes", "yes"],
            Needs::Somewhere(Role::Owner) => ["", "", "yes", "yes"],
            Needs::Role(Role::Viewer) => ["yes", "yes", "yes", ""],
            Needs::Role(Role::Operator) => ["", "yes", "yes", ""],
            Needs::Role(Role::Owner) => ["", "", "yes", ""],
            Needs::Administrator => ["", "", "", "yes"],
        };
        page.push_str(&format!("| `{verb}` | {} | {} |\n", cells.join(" | "), verb.says()));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_nouns_with_verbs_and_unlike() {
        let words: BTreeSet<_> = Verb::ALL.iter().map(|verb| verb.as_str()).collect();
        assert_eq!(words.len(), Verb::ALL.len());
        assert!(
            words
                .iter()
                .all(|word| word.split_once('.').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty()))
        );
        assert!(Verb::ALL.iter().all(|verb| verb.says().ends_with('.')));
    }

    #[test]
    fn the_page_shows_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md");
        let page = std::fs::read_to_string(path).expect("docs/access.md");
        let (before, rest) = page.split_once("<!-- verbs: begin -->\n").expect("where the table begins");
        let (_, after) = rest.split_once("<!-- verbs: end -->").expect("where the table ends");
        let wanted = format!("{before}<!-- verbs: begin -->\n{}<!-- verbs: end -->{after}", table());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &wanted).expect("written");
        } else {
            assert!(
                page == wanted,
                "docs/access.md is behind; write it anew with `UPDATE=1 cargo test -p mate-engine verb`"
            );
        }
    }
}
