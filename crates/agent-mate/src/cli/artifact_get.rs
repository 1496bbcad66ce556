//! `agent-mate artifact get`: a content into a file, or to standard output. What it is and how it is called comes from
//! agents and tools: neither is trusted.

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    show::{at, tell, text_at},
};
use clap::Args;
use mate_guard::{media, text};
use mate_http::Response;
use serde_json::{Value, json};
use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// Without a byte for this long, a download is taken for dead.
const SILENCE: Duration = Duration::from_secs(60);
/// The longest text that is shown on a terminal, in characters.
const SHOWN: usize = 1_000_000;

/// What is wanted.
#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// Its id
    artifact: String,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE", conflicts_with = "own_name")]
    output: Option<PathBuf>,
    /// Write it to a file of its own name in this directory
    #[arg(long, short = 'O')]
    own_name: bool,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Fetches it.
pub(super) async fn get(args: &GetArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let artifact = client.get(&["artifacts", &args.artifact], &[]).await?;
    let screen = &context.screen;
    let file = match (&args.output, args.own_name) {
        (Some(file), _) => Some(file.clone()),
        // Made safe once more: the coordinator is not this program's to trust with a path.
        (None, true) => Some(PathBuf::from(media::file_name(text_at(&artifact, "name"), "artifact"))),
        (None, false) => None,
    };
    let Some(file) = file else {
        if screen.json {
            return Err(Failure::usage("with --json the content goes to a file: say -o FILE"));
        }
        return show(&artifact, args, client, context).await;
    };
    let response = client.content(&args.artifact).await?;
    let mut target = Target::open(&file, args.force)?;
    let hash = copy(response, |bytes| target.write(bytes)).await?;
    check(&artifact, &hash)?;
    target.keep()?;
    let name = file.display().to_string();
    let mut done = artifact.clone();
    done["file"] = json!(name);
    let said = format!("{} bytes are in {}.", at(&artifact, "size"), text::line(&name, 300));
    screen.made(&done, &said, &[])?;
    Ok(Exit::Done)
}

/// To standard output: as it is into a pipe; on a terminal only text, with everything in it that could move a cursor
/// made visible.
async fn show(artifact: &Value, args: &GetArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let screen = &context.screen;
    let kind = text_at(artifact, "media_type");
    if screen.terminal && !media::is_text(kind) {
        return Err(Failure::usage(format!(
            "it is {} and no text, which is not written to a terminal: say -o FILE",
            text::line(kind, 100)
        )));
    }
    let response = client.content(&args.artifact).await?;
    let mut waiting = Vec::new();
    let hash = copy(response, |bytes| {
        if screen.terminal {
            waiting.extend_from_slice(bytes);
            return Ok(());
        }
        screen.raw(bytes)
    })
    .await?;
    if screen.terminal {
        screen.line(&text::block(&String::from_utf8_lossy(&waiting), SHOWN))?;
    }
    check(artifact, &hash)?;
    Ok(Exit::Done)
}

async fn copy(
    mut response: Response,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut hasher = blake3::Hasher::new();
    loop {
        let piece = tokio::time::timeout(SILENCE, response.chunk()).await;
        let broke = |why: String| Failure::new(Exit::Unreachable, "broken_off", why);
        let piece = piece.map_err(|_| broke("the download stands still: try again".to_owned()))?;
        let Some(piece) = piece.map_err(|fault| broke(format!("{fault}: try again")))? else { break };
        hasher.update(&piece);
        take(&piece)?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn check(artifact: &Value, hash: &str) -> Result<(), Failure> {
    if text_at(artifact, "hash") == hash {
        return Ok(());
    }
    Err(Failure::internal("what arrived is not what the artifact's hash says: it was not kept; try again"))
}

/// A file that is there when all of it is, and not before.
struct Target {
    file: File,
    draft: PathBuf,
    path: PathBuf,
    force: bool,
    kept: bool,
}

impl Target {
    fn open(path: &Path, force: bool) -> Result<Self, Failure> {
        let taken = std::fs::symlink_metadata(path);
        if taken.is_ok() && !force {
            return Err(exists(path));
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}.part", std::process::id()));
        let draft = PathBuf::from(draft);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
        let file = file.map_err(|error| cannot(&draft, &error))?;
        Ok(Self { file, draft, path: path.to_owned(), force, kept: false })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| cannot(&self.draft, &error))
    }

    fn keep(mut self) -> Result<(), Failure> {
        self.file.sync_all().map_err(|error| cannot(&self.draft, &error))?;
        if self.force {
            std::fs::rename(&self.draft, &self.path).map_err(|error| cannot(&self.path, &error))?;
        } else {
            // Unlike a rename, a link replaces nothing that came meanwhile.
            std::fs::hard_link(&self.draft, &self.path).map_err(|error| {
                let taken = error.kind() == ErrorKind::AlreadyExists;
                if taken { exists(&self.path) } else { cannot(&self.path, &error) }
            })?;
            let _ = std::fs::remove_file(&self.draft);
        }
        self.kept = true;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = std::fs::remove_file(&self.draft)
        {
            tell(&format!("{} is left behind: {error}", self.draft.display()));
        }
    }
}

fn exists(path: &Path) -> Failure {
    let detail = format!("{} is there already: choose another file, or say --force", path.display());
    Failure::new(Exit::Refused, "file_exists", detail)
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}
