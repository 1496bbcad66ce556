//! A throw-away PostgreSQL cluster for tests, and fresh databases in it.
//!
//! With `AGENT_MATE_TEST_POSTGRES` set to the URL of a cluster (`./test` starts one for all tests), only databases
//! are made there. Otherwise each test process starts a cluster of its own, in which nothing is durable, and which
//! ends with the process however that ends: a shell waits on a pipe that only the process holds open.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio_postgres::NoTls;

/// The variable that names a cluster to be used instead of a new one.
pub const VARIABLE: &str = "AGENT_MATE_TEST_POSTGRES";

const HOW_TO_INSTALL: &str = "PostgreSQL is needed for this test: run `./test`, which installs it, or \
    `apt-get install -y postgresql`";

/// The shell that owns the cluster: it makes it, starts the server and names its process id, does so again for
/// each further line that it reads, and ends the server and tidies up when the test process is gone. Arguments: folder, programs, port, then user and group or nothing.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP PIPE
dir=$1 bin=$2 port=$3 user=$4 group=$5
cd "$dir" || exit 1
as_user() {
    if [ -n "$user" ]; then
        exec setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs "$@"
    fi
    exec "$@"
}
[ -z "$user" ] || chown "$user:$group" "$dir"
# The locale is not byte order, so that a test notices a query that relies on it.
if ! (as_user "$bin/initdb" --pgdata="$dir/data" --username=mate --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
    --locale-provider=icu --icu-locale=en-US --no-sync --no-instructions) </dev/null >"$dir/log" 2>&1; then
    cat "$dir/log" >&2
    rm -rf "$dir"
    exit 1
fi
start() {
    (as_user "$bin/postgres" -D "$dir/data" -k "$dir" -h 127.0.0.1 -p "$port" \
        -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c autovacuum=off \
        -c max_connections=200 -c shared_buffers=32MB -c deadlock_timeout=50ms) </dev/null >>"$dir/log" 2>&1 &
    server=$!
    echo "$server"
}
start
while read -r _; do
    wait "$server"
    start
done
# Until it has set its own handlers, what was started in the background ignores this signal: say it until it is gone.
while kill -QUIT "$server" 2>/dev/null; do
    sleep 0.1
done
wait "$server"
cd /
rm -rf "$dir"
"#;

/// A running cluster; it ends when this is dropped or the process ends.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    server: u32,
    folder: PathBuf,
    pipe: Option<ChildStdin>,
    said: Option<BufReader<ChildStdout>>,
    watchdog: Child,
}

impl Cluster {
    /// Makes and starts a cluster, as an unprivileged user when this is root.
    ///
    /// # Errors
    /// What is missing and how to install it, or the server's own words.
    pub fn start() -> Result<Self, String> {
        let programs = programs()?;
        let mut last = String::new();
        // Another process may take the port in between.
        for _ in 0..3 {
            match Self::serve(&programs) {
                Ok(cluster) => return Ok(cluster),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    fn serve(programs: &Path) -> Result<Self, String> {
        let port = free_port()?;
        let dir =
            tempfile::Builder::new().prefix("mate-pg-").tempdir_in("/tmp").map_err(|why| why.to_string())?;
        let mut command = Command::new("sh");
        command.args(["-c", WATCHDOG, "watchdog"]).arg(dir.path()).arg(programs).arg(port.to_string());
        if let Some((user, group)) = unprivileged() {
            command.args([user, &group]);
        }
        let mut watchdog = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|why| format!("no shell: {why}"))?;
        // From here on the shell removes the folder.
        let dir = dir.keep();
        let pipe = watchdog.stdin.take();
        let said = watchdog.stdout.take().map(BufReader::new);
        let url = format!("postgresql:///postgres?host={}&port={port}&user=mate", dir.display());
        let mut cluster = Self { url, server: 0, folder: dir, pipe, said, watchdog };
        cluster.hear().map_err(|_| "`initdb` failed; its words are above".to_owned())?;
        Ok(cluster)
    }

    /// Learns the server's process id and waits until it serves.
    fn hear(&mut self) -> Result<(), String> {
        let mut line = String::new();
        if let Some(said) = &mut self.said {
            said.read_line(&mut line).map_err(|why| why.to_string())?;
        }
        self.server = line.trim().parse().map_err(|_| "the server was not started".to_owned())?;
        self.wait_until_ready(&self.folder.join("log"))
    }

    /// Ends the server at once, as a crash of it would, and waits until it is gone. What it has committed stays.
    ///
    /// # Errors
    /// That it does not end.
    pub fn stop(&self) -> Result<(), String> {
        let server = self.server.to_string();
        let there = PathBuf::from("/proc").join(&server);
        for _ in 0..600 {
            if !there.join("cwd").exists() {
                return Ok(());
            }
            // It may not have its handlers yet: the signal is said again.
            let _ = Command::new("kill").args(["-QUIT", &server]).stderr(Stdio::null()).status();
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("PostgreSQL did not end within 30 s".to_owned())
    }

    /// Starts the server again, on the same data and the same address.
    ///
    /// # Errors
    /// The server's own words.
    pub fn start_again(&mut self) -> Result<(), String> {
        if let Some(pipe) = &mut self.pipe {
            writeln!(pipe, "again").map_err(|why| why.to_string())?;
        }
        self.hear()
    }

    fn wait_until_ready(&self, log: &Path) -> Result<(), String> {
        for _ in 0..600 {
            if run_alone(self.url.clone(), "SELECT 1".to_owned()).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut said = String::new();
        if let Ok(mut file) = std::fs::File::open(log) {
            let _ = file.read_to_string(&mut said);
        }
        Err(format!("PostgreSQL did not start within 30 s: {said}"))
    }

    /// The URL of the cluster's own database.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's process id, for tests that end it.
    #[must_use]
    pub const fn server(&self) -> u32 {
        self.server
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // The watchdog waits for the server and removes the folder.
        let _ = self.watchdog.wait();
    }
}

/// A database of its own for one test; dropped with this.
#[derive(Debug)]
pub struct TestDatabase {
    admin: String,
    name: String,
    /// Where the database is.
    pub url: String,
}

impl TestDatabase {
    /// Makes an empty database in the cluster of this test process, or the one that the environment names.
    ///
    /// # Panics
    /// When there is no PostgreSQL: the test fails and says how to install it.
    #[must_use]
    #[expect(clippy::panic, reason = "a test without its database fails, it is not skipped")]
    pub fn fresh() -> Self {
        Self::make(&admin_url()).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Makes an empty database in the cluster at `admin`.
    ///
    /// # Errors
    /// The server's own words.
    pub fn make(admin: &str) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mate_{}_{number}", std::process::id());
        run_alone(admin.to_owned(), format!("CREATE DATABASE {name}"))?;
        let url = in_database(admin, &name)?;
        Ok(Self { admin: admin.to_owned(), name, url })
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let name = &self.name;
        // A cluster that has gone has no databases.
        let _ = run_alone(self.admin.clone(), format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    }
}

#[expect(clippy::panic, reason = "a test without its database fails, it is not skipped")]
fn admin_url() -> String {
    static CLUSTER: OnceLock<Mutex<Option<Cluster>>> = OnceLock::new();
    if let Ok(url) = std::env::var(VARIABLE) {
        return url;
    }
    let mut cluster = CLUSTER.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if cluster.is_none() {
        *cluster = Some(Cluster::start().unwrap_or_else(|why| panic!("{why}")));
    }
    cluster.as_ref().map(|cluster| cluster.url.clone()).unwrap_or_default()
}

/// `url` with another database: the path of a URL is what lies between the authority and the question mark.
fn in_database(url: &str, name: &str) -> Result<String, String> {
    let bad = || format!("{VARIABLE} is not a URL like postgresql://USER@HOST/DATABASE");
    let (scheme, rest) = url.split_once("://").ok_or_else(bad)?;
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let (authority, _) = before.split_once('/').ok_or_else(bad)?;
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{scheme}://{authority}/{name}{query}"))
}

/// While this is there, nobody else writes to a table. Reading goes on.
#[derive(Debug)]
pub struct TableLock {
    _go: tokio::sync::oneshot::Sender<()>,
}

impl TableLock {
    /// Waits for its turn, and takes the lock.
    ///
    /// # Errors
    /// The server's words.
    pub fn take(url: &str, table: &str) -> Result<Self, String> {
        let (url, sql) = (url.to_owned(), format!("BEGIN; LOCK TABLE {table} IN SHARE MODE"));
        let (go, gone) = tokio::sync::oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // The transaction ends with its connection, and that with the one who waits here.
            let held = alone(&url, async |client| {
                let taken = client.batch_execute(&sql).await.map_err(|why| format!("{sql}: {why:?}"));
                let is_taken = taken.is_ok();
                let _ = tell.send(taken);
                if is_taken {
                    let _ = gone.await;
                }
                Ok(())
            });
            if let Err(why) = held {
                let _ = tell.send(Err(why));
            }
        });
        told.recv().map_err(|_| "the thread that asked PostgreSQL ended".to_owned())??;
        Ok(Self { _go: go })
    }
}

/// Runs statements, each by itself, as the owner of the database: for tests that spoil one.
///
/// # Errors
/// The server's words.
pub fn run(url: &str, statements: &[&str]) -> Result<(), String> {
    statements.iter().try_for_each(|sql| run_alone(url.to_owned(), (*sql).to_owned()))
}

/// Works with a connection of its own, on this thread.
fn alone(
    url: &str,
    work: impl AsyncFnOnce(&tokio_postgres::Client) -> Result<(), String>,
) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|why| why.to_string())?;
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.map_err(|why| why.to_string())?;
        let driver = tokio::spawn(connection);
        let done = work(&client).await;
        drop(client);
        let _ = driver.await;
        done
    })
}

/// Runs one command on a thread with a runtime of its own, so that it may be called from anywhere.
fn run_alone(url: String, sql: String) -> Result<(), String> {
    let work = async move |client: &tokio_postgres::Client| {
        let done = tokio::time::timeout(Duration::from_secs(60), client.batch_execute(&sql)).await;
        done.map_err(|_| "PostgreSQL does not answer".to_owned())?.map_err(|why| format!("{sql}: {why:?}"))
    };
    std::thread::spawn(move || alone(&url, work))
        .join()
        .unwrap_or_else(|_| Err("the thread that asked PostgreSQL ended".to_owned()))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|why| why.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|why| why.to_string())
}

/// The newest folder with `initdb` and `postgres`: Debian's, else from PATH.
fn programs() -> Result<PathBuf, String> {
    let mut debian: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = debian.into_iter().rev().map(|(_, bin)| bin).chain(std::env::split_paths(&path));
    let complete = |bin: &PathBuf| bin.join("initdb").is_file() && bin.join("postgres").is_file();
    candidates.into_iter().find(complete).ok_or_else(|| HOW_TO_INSTALL.to_owned())
}

/// Who runs the server when this is root, which it refuses: a user and its group.
fn unprivileged() -> Option<(&'static str, String)> {
    let id = |words: &[&str]| {
        let out = Command::new("id").args(words).output().ok().filter(|out| out.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    if id(&["-u"])? != "0" {
        return None;
    }
    ["postgres", "nobody"].into_iter().find_map(|user| Some((user, id(&["-gn", user])?)))
}
