//! Every problem that the interface may answer with: its stable code, its status, what it means, and what to do next.
//!
//! `docs/problems.md` shows this table; `UPDATE=1 cargo test -p mate-server --test http openapi` writes it into the page.

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The stable word.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What it means.
    pub means: &'static str,
    /// What to do next.
    pub next: &'static str,
}

const fn kind(status: u16, code: &'static str, means: &'static str, next: &'static str) -> Kind {
    Kind { code, status, means, next }
}

/// The problem with this code.
#[must_use]
pub fn find(code: &str) -> Option<&'static Kind> {
    PROBLEMS.iter().find(|kind| kind.code == code)
}

/// `docs/problems.md`.
#[must_use]
pub fn page() -> String {
    let mut page = "# Problems\n\nGenerated from `mate-server/src/describe/problems.rs`; do not edit. Every refusal of the HTTP interface is a problem document\n\
        (RFC 9457, `application/problem+json`): `type`, `title`, `status`, `code`, `detail`, and `errors` where fields are wrong (each\n\
        with `field` and `why`). Programs go by `code`, which is stable; `detail` is for people and says what to do next.\n\n\
        | status | code | what it means | what to do |\n|---|---|---|---|\n"
        .to_owned();
    for kind in PROBLEMS {
        page.push_str(&format!("| {} | `{}` | {} | {} |\n", kind.status, kind.code, kind.means, kind.next));
    }
    page
}

/// Every kind of problem, by status and code.
pub const PROBLEMS: &[Kind] = &[
    kind(
        400,
        "bad_json",
        "The body is not JSON, or not UTF-8.",
        "Send one JSON object; `errors` says where it breaks.",
    ),
    kind(
        400,
        "bad_parameter",
        "A parameter of the address, or a header, is wrong.",
        "`errors` names it and says what would be right.",
    ),
    kind(
        401,
        "not_authenticated",
        "No token was shown, or it is unknown, expired or revoked.",
        "Send `Authorization: Bearer TOKEN`, or make a new token.",
    ),
    kind(
        403,
        "inside_a_session",
        "The client runs inside a session's container.",
        "What runs there reaches its granted tools through the bridge alone.",
    ),
    kind(
        403,
        "not_allowed",
        "Your role does not allow this.",
        "Ask an owner of the project, or an administrator.",
    ),
    kind(
        403,
        "wrong_origin",
        "The request comes from a page of another site.",
        "Call the interface from its own pages, or from a program.",
    ),
    kind(404, "not_found", "It does not exist, or not for you.", "Check the id, and which token you use."),
    kind(405, "method_not_allowed", "The address does not take that method.", "See the `Allow` header."),
    kind(408, "too_slow", "The body did not arrive in time.", "Send it again, in one go."),
    kind(
        409,
        "access_denied",
        "The person at the authorisation server said no.",
        "Ask again when they agree.",
    ),
    kind(409, "account_disabled", "The account is disabled.", "Enable it first."),
    kind(409, "already", "It is in that state already.", "Nothing is left to do."),
    kind(
        409,
        "already_continued",
        "The task was continued by another.",
        "Go on with that one: `continued_by` names it.",
    ),
    kind(409, "already_initialised", "The home has its first account.", "Use its token."),
    kind(
        409,
        "already_resolved",
        "Somebody settled the operation otherwise before.",
        "Look at it: the first resolution stays.",
    ),
    kind(
        409,
        "approval_answered",
        "Somebody answered the approval otherwise before.",
        "Look at it: the first answer stays.",
    ),
    kind(409, "approval_over", "The approval ended before the answer.", "Let the agent ask again."),
    kind(
        409,
        "approval_without_effect",
        "Leave would have no effect: authority has changed since it was asked.",
        "See which grant or member changed; give leave again after that.",
    ),
    kind(409, "authorization_refused", "The authorisation server refused.", "The detail has its words."),
    kind(
        409,
        "authorization_unfit",
        "The authorisation server does not do what is needed.",
        "The detail says what it lacks.",
    ),
    kind(
        409,
        "authorization_unreachable",
        "The authorisation server could not be reached.",
        "Try again, or look at its address.",
    ),
    kind(409, "busy", "Too many connections are being looked at.", "Try again in a moment."),
    kind(
        409,
        "changed_meanwhile",
        "Somebody else changed it at the same moment.",
        "Look again, then repeat.",
    ),
    kind(
        409,
        "connection_ill",
        "The connection does not work, so its tools cannot be listed.",
        "The detail says why, and what to do.",
    ),
    kind(
        409,
        "distinct_approver",
        "In this project who submits does not approve.",
        "Let another operator answer.",
    ),
    kind(409, "final", "The thing has ended; it changes no more.", "Make a new one."),
    kind(409, "grant_revoked", "The grant is revoked.", "Add a new one."),
    kind(409, "key_file", "The home's key file cannot be used.", "The detail says what is wrong with it."),
    kind(
        409,
        "key_missing",
        "A key that something is sealed under is not in the key file.",
        "Put the file back that has it: nothing is lost with it.",
    ),
    kind(
        409,
        "key_read_only",
        "The key file cannot be written here.",
        "Run `agent-mate key rotate --to FILE`, and put that file in its place.",
    ),
    kind(
        409,
        "last_administrator",
        "It is the last administrator with an unlimited token.",
        "Make another first.",
    ),
    kind(409, "last_owner", "It is the project's last owner.", "Make another owner first."),
    kind(409, "last_token", "It is the last unlimited token of an administrator.", "Make another first."),
    kind(
        409,
        "listing_gone",
        "The list that the cursor is of is not kept any more.",
        "List again without the cursor.",
    ),
    kind(
        409,
        "look_failed",
        "The connection could not be looked at.",
        "The detail and the coordinator's log say why.",
    ),
    kind(409, "name_taken", "The name is in use.", "Choose another."),
    kind(
        409,
        "no_address",
        "The connection has no address: it is a program.",
        "Give its secrets with `rotate`.",
    ),
    kind(
        409,
        "no_evidence",
        "The move needs evidence that is not there.",
        "Wait for it, or settle what is uncertain.",
    ),
    kind(
        409,
        "no_recipe",
        "No verification recipe fits the operation.",
        "Settle it by hand, or add a recipe to the connection.",
    ),
    kind(409, "not_asked", "No authorisation is under way, or another one.", "Begin again with `authorize`."),
    kind(409, "not_here", "This service cannot do that.", "Use a coordinator that can reach upstreams."),
    kind(409, "not_initialised", "The home has no administrator.", "Run `agent-mate init`."),
    kind(
        409,
        "not_kept",
        "The artifact's content is not kept.",
        "`reason` or `source` of the artifact says where it is.",
    ),
    kind(409, "not_lost", "An administrator has an unlimited token.", "Use it."),
    kind(
        409,
        "not_now",
        "It cannot be done in this state.",
        "Look at the state; the detail says what would have to come first.",
    ),
    kind(
        409,
        "not_resealed",
        "Something could not be sealed under the new key; nothing is lost.",
        "Put right what the detail names, then rotate again.",
    ),
    kind(
        409,
        "not_resumable",
        "The task has nothing to be resumed.",
        "Add a new task; with its session, to go on in the conversation.",
    ),
    kind(
        409,
        "not_resumable",
        "The task has nothing to be resumed.",
        "Add a new task; with its session, to go on in the conversation.",
    ),
    kind(409, "not_unknown", "Nothing about it is uncertain.", "Nothing is left to do."),
    kind(409, "nothing_to_revoke", "No leave is in force that could be taken back.", "Look at the approval."),
    kind(
        409,
        "operations_unknown",
        "Operations of the task are unknown.",
        "Settle them first, each with its evidence.",
    ),
    kind(409, "project_archived", "The project is archived.", "Use another project."),
    kind(
        409,
        "reaches_further",
        "The account may do more in a project than you.",
        "Let it make its tokens itself.",
    ),
    kind(
        409,
        "removed",
        "The artifact's content was removed.",
        "Publish it again, if the file is still there.",
    ),
    kind(
        409,
        "rotating",
        "Another command changes the keys of this home.",
        "Wait until it is done, then look at `agent-mate key show`.",
    ),
    kind(
        409,
        "runtime_removed",
        "The session's runtime is removed.",
        "Resume with `fresh`, or add a task with another runtime.",
    ),
    kind(
        409,
        "session_busy",
        "The session has a task, and the request does not want to wait.",
        "Wait for it, or send `queue: true`.",
    ),
    kind(
        409,
        "session_closed",
        "The session is closed.",
        "Start a new one: leave `session` out, or resume with `fresh`.",
    ),
    kind(409, "session_uncertain", "Something in the session is uncertain.", "Settle it first."),
    kind(409, "stale", "A newer holder of the session has taken over.", "Look again."),
    kind(409, "still_live", "The task has not ended.", "Wait for its end, or stop it."),
    kind(409, "too_many_keys", "The key file is full.", "Run `agent-mate key retire` first."),
    kind(
        409,
        "too_many_policies",
        "There are as many policies as there may be.",
        "Put statements together, or remove what is not needed.",
    ),
    kind(409, "turn_running", "The turn still runs; its worker may yet hear of it.", "Wait for its end."),
    kind(
        409,
        "workspace_missing",
        "The project's directory is not there.",
        "Make it, or give the project another one.",
    ),
    kind(
        413,
        "too_large",
        "The body has more than 1 MiB.",
        "Put long material into the workspace and name the file.",
    ),
    kind(
        415,
        "unsupported_media_type",
        "The body says that it is not JSON.",
        "Send `Content-Type: application/json`.",
    ),
    kind(
        421,
        "wrong_host",
        "`Host` is no name of this service.",
        "Use localhost, a loopback address, or the address it listens on.",
    ),
    kind(
        422,
        "idempotency_key_reused",
        "The idempotency key came with another body.",
        "Take a new key for a new request.",
    ),
    kind(422, "invalid", "A field of the body is wrong.", "`errors` names it and says what would be right."),
    kind(429, "too_many_downloads", "Too many downloads are under way.", "Try again when one has ended."),
    kind(
        429,
        "too_many_failures",
        "Too many requests without a valid token came from this address.",
        "Wait as `Retry-After` says, and use a valid token.",
    ),
    kind(429, "too_many_requests", "The account asks faster than it may.", "Wait as `Retry-After` says."),
    kind(429, "too_many_streams", "Too many streams are open.", "Close one, or ask for pages."),
    kind(
        500,
        "internal",
        "A defect of Agent Mate or of its files.",
        "The coordinator's log says more; run `agent-mate doctor`.",
    ),
    kind(
        503,
        "clock_behind",
        "This machine's clock is behind what the ledger has seen; nothing was changed.",
        "Set the clock right. Denying, revoking and stopping work meanwhile.",
    ),
    kind(
        503,
        "unavailable",
        "The stores cannot take it now; nothing was changed.",
        "Try again as `Retry-After` says.",
    ),
];
