//! SQLite's files, through a VFS that tells of each write and each sync. Everything else is the default VFS's own.
#![expect(unsafe_code, reason = "a VFS is a table of C functions")]

use crate::record::{Event, is_recorded, note};
use rusqlite::ffi;
use std::{
    collections::HashMap,
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// While set, what would be appended to a journal's log finds no room.
pub(crate) static JOURNAL_IS_FULL: AtomicBool = AtomicBool::new(false);

struct Open {
    path: PathBuf,
    inner: &'static ffi::sqlite3_io_methods,
    /// A log or journal that may be new: the first sync syncs its folder as well, as the default VFS does.
    fresh: bool,
}

static FILES: Mutex<Option<HashMap<usize, Open>>> = Mutex::new(None);
static INNER: OnceLock<usize> = OnceLock::new();

/// Puts the VFS in the place of the default one, for the rest of this process.
pub(crate) fn install() {
    INNER.get_or_init(|| {
        // SAFETY: the default VFS lives as long as the process; the copy is leaked and so does as well.
        unsafe {
            ffi::sqlite3_initialize();
            let inner = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut vfs = *inner;
            vfs.zName = c"recording".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            assert_eq!(ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 1), ffi::SQLITE_OK);
            inner as usize
        }
    });
}

fn inner() -> *mut ffi::sqlite3_vfs {
    *INNER.get().expect("installed") as *mut ffi::sqlite3_vfs
}

/// Looks at an open file; none when it is not recorded.
fn with<T>(file: *mut ffi::sqlite3_file, look: impl FnOnce(&mut Open) -> T) -> T {
    let mut files = FILES.lock().expect("no panic under it");
    look(files.get_or_insert_default().get_mut(&(file as usize)).expect("a recorded file"))
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: the arguments are SQLite's own, handed on as they came; the methods of a file that was opened are there
    // until it is closed, and the table that replaces them is leaked.
    unsafe {
        let path = (!name.is_null()).then(|| PathBuf::from(CStr::from_ptr(name).to_str().expect("text")));
        let recorded = path.filter(|path| is_recorded(path) && !path.to_string_lossy().ends_with("-shm"));
        let fresh = recorded.as_ref().is_some_and(|path| !path.exists());
        let Some(inner_open) = (*inner()).xOpen else { return ffi::SQLITE_ERROR };
        let code = inner_open(inner(), name, file, flags, out);
        let (Some(path), ffi::SQLITE_OK) = (recorded, code) else { return code };
        let inner: &'static ffi::sqlite3_io_methods = &*(*file).pMethods;
        let mut methods = *inner;
        methods.xWrite = Some(write);
        methods.xTruncate = Some(truncate);
        methods.xSync = Some(sync);
        methods.xClose = Some(close);
        (*file).pMethods = Box::into_raw(Box::new(methods));
        if fresh {
            note(Event::File(path.clone()));
        }
        let logs = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL;
        let fresh = flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & logs != 0;
        let open = Open { path, inner, fresh };
        FILES.lock().expect("no panic under it").get_or_insert_default().insert(file as usize, open);
        code
    }
}

unsafe extern "C" fn delete(_vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: the arguments are SQLite's own, handed on as they came.
    unsafe {
        let path = PathBuf::from(CStr::from_ptr(name).to_str().expect("text"));
        let Some(inner_delete) = (*inner()).xDelete else { return ffi::SQLITE_ERROR };
        let code = inner_delete(inner(), name, sync_folder);
        if code == ffi::SQLITE_OK && is_recorded(&path) && !path.to_string_lossy().ends_with("-shm") {
            note(Event::Removed(path.clone()));
            if sync_folder != 0 {
                note(Event::SyncedFolder(folder(&path)));
            }
        }
        code
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let (path, inner) = with(file, |open| (open.path.clone(), open.inner.xWrite));
    let Some(inner) = inner else { return ffi::SQLITE_ERROR };
    if JOURNAL_IS_FULL.load(Ordering::Acquire) && path.ends_with("journal.db-wal") {
        return ffi::SQLITE_FULL;
    }
    // SAFETY: the arguments are SQLite's own: so many bytes are there.
    unsafe {
        let what = std::slice::from_raw_parts(bytes.cast::<u8>(), usize::try_from(length).unwrap_or(0));
        note(Event::Wrote(path, at.cast_unsigned(), what.to_vec()));
        inner(file, bytes, length, at)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let (path, inner) = with(file, |open| (open.path.clone(), open.inner.xTruncate));
    let Some(inner) = inner else { return ffi::SQLITE_ERROR };
    note(Event::Resized(path, size.cast_unsigned()));
    // SAFETY: the arguments are SQLite's own.
    unsafe { inner(file, size) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let (path, inner, fresh) =
        with(file, |open| (open.path.clone(), open.inner.xSync, std::mem::take(&mut open.fresh)));
    let Some(inner) = inner else { return ffi::SQLITE_ERROR };
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { inner(file, flags) };
    if code == ffi::SQLITE_OK {
        note(Event::Synced(path.clone()));
        if fresh {
            note(Event::SyncedFolder(folder(&path)));
        }
    }
    code
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let open = FILES.lock().expect("no panic under it").get_or_insert_default().remove(&(file as usize));
    let Some(open) = open else { return ffi::SQLITE_ERROR };
    let Some(inner) = open.inner.xClose else { return ffi::SQLITE_ERROR };
    // SAFETY: the file's own methods are put back before it is closed by them.
    unsafe {
        (*file).pMethods = open.inner;
        inner(file)
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().expect("a folder").to_owned()
}
