//! The first steps of a home: its key, its first account, project and token.

use crate::{Engine, EngineError, Home};
use mate_guard::{ApiToken, KeyPlace, key_file};
use mate_model::{
    AccountId, Entropy, ProjectId, TokenId,
    event::{Draft, EventType},
    records::{Account, Project, Token},
};
use serde_json::json;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The name of the first account.
const OWNER: &str = "owner";

/// The name of the first project.
const PROJECT: &str = "default";

/// A home that was just made.
#[derive(Debug)]
pub struct Initialised {
    /// The first account: an administrator.
    pub account: Account,
    /// The first project; the account owns it.
    pub project: Project,
    /// The account's token, also in the home's file `token`.
    pub token: ApiToken,
}

/// Makes the home's folder and key where they are missing. A home that has a ledger and no key gets none: a
/// new one could not open what the old one sealed.
///
/// # Errors
/// What the file system says; a key that is missing, open to others or damaged.
pub fn create_home(home: &Home, key: &KeyPlace, entropy: &dyn Entropy) -> Result<(), EngineError> {
    home.create()
        .map_err(|error| EngineError::Internal(format!("cannot make {}: {error}", home.path().display())))?;
    let key =
        if home.ledger().exists() { key_file::load(key) } else { key_file::load_or_create(key, entropy) };
    key.map_err(|error| EngineError::Internal(error.to_string()))?;
    mate_fault::point!("init.home_made");
    Ok(())
}

impl Engine {
    /// Makes the first account, project and token in an empty ledger, and writes the token's file. After a crash
    /// in the middle, it goes on where it was.
    ///
    /// # Errors
    /// `already_initialised` when it was done before: nothing is changed; the stores' and the file system's.
    pub async fn initialise(&self) -> Result<Initialised, EngineError> {
        let account = self.first_account().await?;
        mate_fault::point_async!("init.account_added");
        let project = self.first_project(&account).await?;
        mate_fault::point_async!("init.project_added");
        let token = self.way_in(&account).await?;
        Ok(Initialised { account, project, token })
    }

    /// Gives the oldest administrator a way in again, for whoever can write the home: enables the account if need be, makes an
    /// unlimited token that does not end, and writes the token's file.
    ///
    /// # Errors
    /// `not_lost` while an administrator has such a token in force: nothing is changed; `not_initialised`; the stores' and
    /// the file system's.
    pub async fn recover_way_in(&self) -> Result<(Account, ApiToken), EngineError> {
        if self.ledger.has_way_in().await? {
            return Err(EngineError::refused(
                "not_lost",
                "an administrator has an unlimited token in force: make another one with it, by `agent-mate token add`",
            ));
        }
        let accounts = self.ledger.accounts(None, 500).await?.items;
        let account = accounts.into_iter().find(|account| account.admin).ok_or_else(|| {
            EngineError::refused("not_initialised", "the home has no administrator: run `agent-mate init`")
        })?;
        if account.disabled_at.is_some() {
            self.ledger.enable_account(account.id).await?;
        }
        let token = self.way_in(&account).await?;
        tracing::warn!(account = %account.name, "a lost way in was made anew on this machine");
        Ok((account, token))
    }

    /// An unlimited token of an account, in the token's file and then in the ledger.
    async fn way_in(&self, account: &Account) -> Result<ApiToken, EngineError> {
        let token = ApiToken::mint(self.entropy.as_ref());
        // The file first: a token in the ledger says that all is done.
        write_token(&self.home.token(), token.reveal())
            .map_err(|error| EngineError::Internal(format!("cannot write the token's file: {error}")))?;
        mate_fault::point_async!("init.token_written");
        let row = Token {
            id: TokenId::new(self.entropy.uuid()),
            account: account.id,
            hash: *token.hash().as_bytes(),
            project: None,
            role: None,
            expires_at: None,
            revoked_at: None,
            created_at: self.writing_time().await?,
            last_used_at: None,
            made_with: None,
        };
        self.ledger.add_token(&row).await?;
        Ok(token)
    }

    async fn first_account(&self) -> Result<Account, EngineError> {
        let known = self.ledger.accounts(None, 2).await?;
        let done = || {
            EngineError::refused(
                "already_initialised",
                format!("{} is a home already; nothing was changed", self.home.path().display()),
            )
        };
        match known.items.as_slice() {
            [] if known.corrupt.is_empty() => {}
            [half] if half.name == OWNER && self.ledger.tokens(half.id, None, 1).await?.items.is_empty() => {
                return Ok(half.clone());
            }
            _ => return Err(done()),
        }
        let at = self.writing_time().await?;
        let id = AccountId::new(self.entropy.uuid());
        let account = Account { id, name: OWNER.to_owned(), admin: true, disabled_at: None, created_at: at };
        self.ledger.add_account(&account).await?;
        Ok(account)
    }

    async fn first_project(&self, owner: &Account) -> Result<Project, EngineError> {
        if let Some(project) = self.ledger.project_by_name(PROJECT).await? {
            return Ok(project);
        }
        let at = self.writing_time().await?;
        let id = ProjectId::new(self.entropy.uuid());
        let project = Project {
            id,
            name: PROJECT.to_owned(),
            workspace: None,
            archived_at: None,
            distinct_approver: false,
            created_at: at,
        };
        let data = json!({ "by": owner.id, "name": PROJECT, "workspace": null });
        let draft = Draft { kind: EventType::ProjectAdded, task: None, turn: None, at, data };
        self.ledger.add_project(&project, owner.id, draft).await?;
        Ok(project)
    }
}

/// Writes the file beside its place and moves it there, so that it is whole or not there at all.
fn write_token(path: &Path, token: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(token.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    mate_fault::point!("init.token_drafted");
    fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
