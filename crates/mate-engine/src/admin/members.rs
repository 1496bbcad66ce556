//! Members: who may act in a project, and in which role.

use super::{InFlight, Listing, Paging, in_flight::Taken};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    AccountId, ProjectId,
    event::{Draft, EventType},
    records::{Account, Member},
    words::Role,
};
use mate_store::LedgerError;
use serde_json::json;

/// A member, with the account's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMember {
    /// The member.
    pub member: Member,
    /// The account's name.
    pub name: String,
}

impl Engine {
    /// Makes an account a member, or changes a member's role.
    ///
    /// # Errors
    /// Not an owner; no such account; the last owner losing that role; the ledger's.
    pub async fn set_member(
        &self,
        who: &Principal,
        project: &str,
        account: &str,
        role: Role,
    ) -> Result<NamedMember, EngineError> {
        let project = self.live_project(who, project, Verb::MemberSet).await?;
        let account = self.find_account(account).await?;
        let account =
            account.ok_or_else(|| EngineError::invalid("account", "no account has this name or id"))?;
        if role < Role::Owner {
            self.leave_an_owner(project.id, account.id).await?;
        }
        let at = self.writing_time().await?;
        let member = Member { project: project.id, account: account.id, role, added_at: at };
        let running = self.at_work(project.id).await?;
        let before = self.ledger.role_of(project.id, account.id).await?;
        let data = json!({
            "by": who.account, "account": account.id, "role": role, "before": before, "running_tasks": running,
        });
        let draft = Draft { kind: EventType::MemberSet, task: None, turn: None, at, data };
        self.ledger.set_member(&member, draft).await?;
        Ok(NamedMember { member, name: account.name })
    }

    /// Removes a member. Answers the account, and what its tasks had in flight.
    ///
    /// # Errors
    /// Not an owner; no such member; the last owner; the ledger's.
    pub async fn remove_member(
        &self,
        who: &Principal,
        project: &str,
        account: &str,
    ) -> Result<(Account, InFlight), EngineError> {
        let project = self.project(who, project, Verb::MemberRemove).await?;
        let account = self.find_account(account).await?.ok_or(EngineError::NotFound)?;
        self.leave_an_owner(project.id, account.id).await?;
        let at = self.cautious_time().await?;
        let running = self.at_work(project.id).await?;
        let data = json!({ "by": who.account, "account": account.id, "running_tasks": running });
        let draft = Draft { kind: EventType::MemberRemoved, task: None, turn: None, at, data };
        match self.ledger.remove_member(project.id, account.id, draft).await {
            Ok(()) => {
                let taken = Taken::Account(account.id);
                let in_flight = self.in_flight(who, &[project.id], taken).await;
                Ok((account, in_flight))
            }
            Err(LedgerError::NotFound(_)) => Err(EngineError::NotFound),
            Err(error) => Err(error.into()),
        }
    }

    /// A project's members.
    ///
    /// # Errors
    /// Not a viewer; the ledger's.
    pub async fn members(
        &self,
        who: &Principal,
        project: &str,
        page: &Paging,
    ) -> Result<Listing<NamedMember>, EngineError> {
        let project = self.project(who, project, Verb::MemberList).await?;
        let list: Listing<Member> =
            self.ledger.members(project.id, page.position()?, page.limit).await?.into();
        let mut items = Vec::with_capacity(list.items.len());
        for member in list.items {
            let account = self.ledger.account(member.account).await?;
            let name = account.map_or_else(|| member.account.to_string(), |account| account.name);
            items.push(NamedMember { member, name });
        }
        Ok(Listing { items, unreadable: list.unreadable, next: list.next })
    }

    /// Refuses to take the role from the project's last owner.
    async fn leave_an_owner(&self, project: ProjectId, losing: AccountId) -> Result<(), EngineError> {
        let mut after = None;
        let mut is_owner = false;
        loop {
            let page = self.ledger.members(project, after, Paging::MOST).await?;
            for member in page.items.iter().filter(|member| member.role == Role::Owner) {
                if member.account != losing {
                    return Ok(());
                }
                is_owner = true;
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if is_owner {
            return Err(EngineError::refused(
                "last_owner",
                "a project keeps an owner: make somebody else owner first",
            ));
        }
        Ok(())
    }
}
