//! Confinement: a program that tries to reach what is hidden gets nothing, by each means.

use crate::surroundings::{block_on, confined, launch, shell, until};
use mate_model::{
    confinement::{ConfinementMeans, WantedMeans},
    containment::MeansChoice,
};
use mate_runtime::{
    confine::Confinement,
    container::{Container, ContainerSpec, Exit},
};
use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

crate::cases! {
    i06_a_mount_namespace_hides_the_home,
    i06_a_mount_namespace_hides_the_home_from_another_user,
    i06_landlock_hides_the_home_from_another_user,
    i06_the_home_is_hidden_without_a_pid_namespace_too,
    i06_a_second_mount_of_the_home_is_hidden_too,
    services_that_run_programs_are_hidden_unless_shown,
    i06_what_was_hidden_cannot_be_uncovered,
    i06_a_program_is_kept_from_the_environment_of_the_other,
    a_hard_link_to_what_is_hidden_refuses_the_session,
    a_session_that_cannot_be_confined_does_not_start,
}

const SECRET: &str = "s3cr3t-of-the-home";

/// A home with secrets, a workspace beside it with ways into it, and this test's own socket-like file to be kept.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::Builder::new().prefix("mate-").tempdir_in("/tmp").unwrap() };
        let home = place.home();
        for folder in ["sessions/own/workspace", "sessions/sibling"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for file in [
            "ledger.db",
            "key",
            "token",
            "config.toml",
            "sessions/own/journal.db",
            "sessions/sibling/journal.db",
        ] {
            fs::write(home.join(file), SECRET).unwrap();
            fs::set_permissions(home.join(file), fs::Permissions::from_mode(0o600)).unwrap();
        }
        fs::write(home.join("sessions/own/bridge.sock"), "the way to the bridge").unwrap();
        fs::write(place.folder.path().join("key-elsewhere"), SECRET).unwrap();
        fs::create_dir(place.folder.path().join("alias")).unwrap();
        fs::create_dir(place.work()).unwrap();
        symlink(&home, place.work().join("link")).unwrap();
        symlink(home.join("key"), place.work().join("key-link")).unwrap();
        place
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("h")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The container's records, which are the keeper's to write.
    fn records(&self) -> PathBuf {
        let records = self.home().join("sessions/own");
        assert!(records.is_dir());
        records
    }
}

fn confinement(home: &Path, means: WantedMeans) -> Confinement {
    let own = home.join("sessions/own");
    Confinement {
        means,
        keep: vec![own.join("bridge.sock"), own.join("workspace")],
        ..Confinement::hiding(vec![home.to_owned(), home.with_file_name("key-elsewhere")])
    }
}

/// Tries every way to the secrets that is known, and prints what it got, and what became of what it may do.
fn burglar(home: &Path, work: &Path, worker: u32) -> String {
    let (home, work) = (home.display(), work.display());
    format!(
        r#"
cd {work}
for f in ledger.db key token config.toml sessions/own/journal.db sessions/sibling/journal.db; do
  for way in {home} link ../alias ../h ./link/../h /proc/self/root{home} /proc/1/root{home} /proc/1/cwd{home} /proc/{worker}/root{home} /proc/{worker}/cwd/..{home}; do
    cat "$way/$f" 2>/dev/null
  done
  ln {home}/$f stolen-$(basename $f) 2>/dev/null && echo "LINKED $f"
  cp {home}/$f stolen2-$(basename $f) 2>/dev/null && echo "COPIED $f"
  mv {home}/$f moved-$(basename $f) 2>/dev/null && echo "MOVED $f"
done
cat key-link ../key-elsewhere 2>/dev/null
cat /proc/{worker}/environ 2>/dev/null && echo "ENVIRON"
head -c 1 /proc/{worker}/mem 2>/dev/null && echo "MEM"
readlink /proc/{worker}/fd/0 2>/dev/null && echo "DESCRIPTORS"
cat /proc/1/environ 2>/dev/null && echo "ENVIRON OF 1"
readlink /proc/1/fd/0 2>/dev/null && echo "DESCRIPTORS OF 1"
head -c 1 /proc/1/mem 2>/dev/null && echo "MEM OF 1"
ls /proc/self/fd | wc -l | grep -qx 4 || echo "MORE DESCRIPTORS"
umount {home} 2>/dev/null && echo "UNMOUNTED"
umount -l {home} 2>/dev/null && echo "UNMOUNTED LAZILY"
unshare -Urm sh -c 'umount {home} || umount -l {home}; cat {home}/key' 2>/dev/null
unshare -Urm sh -c 'mount --bind / /mnt && cat /mnt{home}/key' 2>/dev/null
unshare -Urm sh -c 'mount -t overlay o -o lowerdir=/ /mnt && cat /mnt{home}/key' 2>/dev/null
unshare -Urpmf sh -c 'mount -t proc proc /proc && cat /proc/*/root{home}/key' 2>/dev/null
unshare -m true 2>/dev/null && echo "UNSHARED"
mount --bind / /mnt 2>/dev/null && cat /mnt{home}/key
for ns in mnt user pid; do nsenter --$ns=/proc/{worker}/ns/$ns true 2>/dev/null && echo "ENTERED $ns"; done
nsenter --mount=/proc/1/ns/mnt true 2>/dev/null && echo "ENTERED 1"
mknod {work}/disk b 254 0 2>/dev/null && echo "MADE A DISK"
for disk in $(lsblk -nrpo NAME 2>/dev/null) /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/port /dev/input/event0; do
  head -c 1 $disk >/dev/null 2>&1 && echo "READ $disk"
done
for setting in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper; do
  ( : >> $setting ) 2>/dev/null && echo "OPENED $setting"
done
mv {home} {home}.away 2>/dev/null && cat {home}.away/key
mv {home}/.. {home}/../../away 2>/dev/null; above=$(dirname {home}); mv $above $above.away 2>/dev/null && {{ echo "MOVED WHAT IS ABOVE"; mv $above.away $above; }}
rm -rf {home}/ledger.db {home}/sessions/sibling 2>/dev/null
for tree in $(grep -E ' - cgroup2? ' /proc/self/mountinfo | cut -d' ' -f5); do
  mkdir $tree/planted 2>/dev/null && {{ echo "MADE A CGROUP"; rmdir $tree/planted; }}
  ( echo $$ > $tree/cgroup.procs ) 2>/dev/null && echo "LEFT ITS CGROUP"
done
[ $(id -u) != 0 ] || unshare -UrmC sh -c 'mount -t cgroup2 none /mnt && echo "MOUNTED CGROUPS"' 2>/dev/null
echo planted 2>/dev/null > {home}/planted
echo tried
"#
    )
}

/// What a program of the session may do as before.
const HONEST: &str = "
set -e
echo fine > file; mkdir -p a/b; mv file a/b/file; ln a/b/file a/c; rm a/c; cat a/b/file
: > /dev/null; head -c 4 /dev/urandom | wc -c; [ ! -e /dev/full ] || [ -c /dev/full ]
python3 -c 'import os,pty; pty.openpty(); print(\"terminal\")'
";

async fn output(container: &Container, cwd: &Path, script: &str) -> (String, Exit) {
    let mut process = container.spawn(shell(cwd, script)).await.unwrap();
    drop(process.stdin);
    let (mut said, mut complained) = (String::new(), String::new());
    process.stdout.read_to_string(&mut said).await.unwrap();
    process.stderr.read_to_string(&mut complained).await.unwrap();
    let exit = process.exited.wait_for(Option::is_some).await.unwrap().unwrap();
    (said + &complained, exit)
}

/// Breaks in, and sees that nothing came of it.
async fn gets_nothing(place: &Path, means: WantedMeans, held: MeansChoice) {
    let (home, work) = (place.join("h"), place.join("work"));
    let spec = ContainerSpec {
        confinement: confinement(&home, means),
        means: held,
        ..ContainerSpec::new(std::env::current_exe().unwrap(), home.join("sessions/own"))
    };
    let container = Container::start(&spec).await.unwrap();
    let expected = match means {
        WantedMeans::Auto | WantedMeans::MountNamespace => ConfinementMeans::MountNamespace,
        WantedMeans::Landlock => ConfinementMeans::Landlock,
    };
    assert_eq!(container.record().confined.means, expected);
    let (said, exit) = output(&container, &work, &burglar(&home, &work, std::process::id())).await;
    assert_eq!((said.as_str(), exit), ("tried\n", Exit::Code(0)), "it got something");
    for (file, mode) in [("ledger.db", 0o600), ("key", 0o600), ("sessions/sibling/journal.db", 0o600)] {
        assert_eq!(fs::read_to_string(home.join(file)).unwrap(), SECRET, "{file}");
        assert_eq!(fs::metadata(home.join(file)).unwrap().permissions().mode() & 0o777, mode);
    }
    assert!(!home.join("planted").exists());
    for (what, cwd) in [("outside", &work), ("inside", &home.join("sessions/own/workspace"))] {
        let (said, exit) = output(&container, cwd, HONEST).await;
        assert_eq!((said.as_str(), exit), ("fine\n4\nterminal\n", Exit::Code(0)), "{what}");
    }
    let kept = format!("cat {0}/sessions/own/bridge.sock; ls {0} {0}/sessions 2>/dev/null", home.display());
    let (said, _) = output(&container, &work, &kept).await;
    assert!(means == WantedMeans::Landlock || said.starts_with("the way to the bridge"), "{said}");
    assert!(means == WantedMeans::Landlock || !said.contains("key") && !said.contains("sibling"), "{said}");
    container.kill().await.unwrap();
}

async fn i06_a_mount_namespace_hides_the_home() {
    let place = Place::new();
    gets_nothing(place.folder.path(), WantedMeans::Auto, MeansChoice::Auto).await;
}

/// This program again as a user without rights, with the place in its hands.
async fn as_another_user(means: &str, held: &str) {
    let place = Place::new();
    if !is_root() {
        // This user is another one already.
        return gets_nothing(place.folder.path(), means.parse().unwrap(), held.parse().unwrap()).await;
    }
    let program = place.folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let run = |words: &[&str]| Command::new(words[0]).args(&words[1..]).status().unwrap();
    let path = place.folder.path().to_str().unwrap();
    assert!(run(&["chown", "-hR", "1234:1234", path]).success());
    let words = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "--inh-caps=-all"];
    let rest = [program.to_str().unwrap(), "play-burglary", path, means, held];
    assert!(run(&[words.as_slice(), &rest].concat()).success(), "as another user");
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t0"))
}

/// The part of a test that runs as another user.
pub(crate) fn play_burglary(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let place = PathBuf::from(args.next().unwrap());
    let means = args.next().unwrap().to_str().unwrap().parse().unwrap();
    let held = args.next().unwrap().to_str().unwrap().parse().unwrap();
    block_on(gets_nothing(&place, means, held));
    ExitCode::SUCCESS
}

async fn i06_a_mount_namespace_hides_the_home_from_another_user() {
    as_another_user("mount_namespace", "auto").await;
}

async fn i06_landlock_hides_the_home_from_another_user() {
    as_another_user("landlock", "auto").await;
}

/// Where processes outside can be seen.
async fn i06_the_home_is_hidden_without_a_pid_namespace_too() {
    let place = Place::new();
    gets_nothing(place.folder.path(), WantedMeans::Auto, MeansChoice::Subreaper).await;
    as_another_user("mount_namespace", "subreaper").await;
    as_another_user("landlock", "subreaper").await;
}

/// As if the file system were mounted twice.
async fn i06_a_second_mount_of_the_home_is_hidden_too() {
    if !is_root() {
        eprintln!("not root: nothing can be mounted here to try this");
        return;
    }
    let place = Place::new();
    let script = r#"mount --bind "$1/h" "$1/alias" && [ -s "$1/alias/key" ] && exec "$2" play-burglary "$1" auto auto"#;
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script, "sh"])
        .arg(place.folder.path())
        .arg(std::env::current_exe().unwrap());
    assert!(command.status().unwrap().success());
}

async fn services_that_run_programs_are_hidden_unless_shown() {
    let place = Place::new();
    // Where this user's terminals that can be typed into would listen.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:\t")?.split('\t').next()).unwrap();
    let service = PathBuf::from(format!("/tmp/tmux-{user}"));
    let was_there = service.exists();
    fs::create_dir_all(&service).unwrap();
    let socket = service.join(format!("mate-{}", std::process::id()));
    fs::write(&socket, SECRET).unwrap();
    let script = format!("cat {0}; echo own > {0}-2; cat {0}-2; rm {0}-2", socket.display());
    for show in [Vec::new(), vec![service.clone()]] {
        let told =
            Confinement { show: show.clone(), ..confinement(&place.home(), WantedMeans::MountNamespace) };
        let container = confined(&place.records(), told).await.unwrap();
        let (said, _) = output(&container, &place.work(), &script).await;
        assert_eq!((said.contains(SECRET), said.contains("own")), (!show.is_empty(), true), "{said}");
        container.kill().await.unwrap();
    }
    fs::remove_file(&socket).unwrap();
    if !was_there {
        fs::remove_dir(&service).unwrap();
    }
}

/// As root, with the rights that the container leaves: no call that changes mounts is granted.
async fn i06_what_was_hidden_cannot_be_uncovered() {
    let place = Place::new();
    let told = confinement(&place.home(), WantedMeans::MountNamespace);
    let container = confined(&place.records(), told).await.unwrap();
    let (said, _) =
        output(&container, &place.work(), "grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status").await;
    // SYS_ADMIN, SYS_PTRACE, SYS_RAWIO, SYS_MODULE, DAC_READ_SEARCH, MKNOD, NET_RAW, NET_ADMIN, BPF, PERFMON, CHECKPOINT_RESTORE
    let gone = [21, 19, 17, 16, 2, 27, 13, 12, 39, 38, 40];
    let sets: Vec<u64> = said
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok())
        .collect();
    assert_eq!(sets.len(), 4, "{said}");
    for set in sets {
        for right in gone {
            assert_eq!(set & 1 << right, 0, "right {right} is left: {said}");
        }
    }
    container.kill().await.unwrap();
}

async fn i06_a_program_is_kept_from_the_environment_of_the_other() {
    let place = Place::new();
    let told = confinement(&place.home(), WantedMeans::Auto);
    let container = confined(&place.records(), told).await.unwrap();
    if !container.record().confined.apart {
        eprintln!("this kernel cannot keep programs apart (Linux 6.12 can)");
        return;
    }
    let mut upstream = launch(&place.work(), &["sleep", "600"]);
    upstream.env.push(("UPSTREAM_SECRET".to_owned(), SECRET.to_owned()));
    let upstream = container.spawn(upstream).await.unwrap();
    until("it runs", async || container.count().await.unwrap() == 1).await;
    let pid = upstream.pid;
    let script =
        format!("cat /proc/{pid}/environ; head -c1 /proc/{pid}/mem; kill -9 {pid}; kill -0 {pid}; true");
    let (said, _) = output(&container, &place.work(), &script).await;
    assert!(!said.contains(SECRET), "{said}");
    assert_eq!(*upstream.exited.borrow(), None, "it was killed: {said}");
    container.kill().await.unwrap();
}

async fn a_hard_link_to_what_is_hidden_refuses_the_session() {
    let place = Place::new();
    fs::hard_link(place.home().join("ledger.db"), place.work().join("innocent")).unwrap();
    for means in [WantedMeans::MountNamespace, WantedMeans::Auto] {
        let refused = confined(&place.records(), confinement(&place.home(), means)).await;
        let why = refused.expect_err("refused").to_string();
        assert!(why.contains("ledger.db has a second name") && why.contains("find"), "{why}");
    }
    fs::remove_file(place.work().join("innocent")).unwrap();
    let container = confined(&place.records(), confinement(&place.home(), WantedMeans::Auto)).await.unwrap();
    container.kill().await.unwrap();
}

async fn a_session_that_cannot_be_confined_does_not_start() {
    if !is_root() {
        eprintln!("not root: there is a means here");
        return;
    }
    let place = Place::new();
    // Landlock alone does not hold root.
    let refused = confined(&place.records(), confinement(&place.home(), WantedMeans::Landlock)).await;
    let why = refused.expect_err("refused").to_string();
    assert!(why.contains("mode = \"off\"") && why.contains("[confinement]"), "{why}");
    assert!(mate_runtime::container::prove_empty(&place.records()).is_ok());
    let container = confined(&place.records(), Confinement::off()).await.unwrap();
    assert_eq!(container.record().confined.means, ConfinementMeans::None);
    let (said, _) = output(&container, &place.work(), "cat link/key").await;
    assert_eq!(said, SECRET, "without confinement nothing is hidden, or this test tests nothing");
    container.kill().await.unwrap();
}
