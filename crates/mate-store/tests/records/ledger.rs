//! Each verb of the ledger.

use crate::{
    policies::policy,
    support::{World, at, draft, on_both, uuid},
};
use mate_model::{
    AccountId, Epoch, GrantId, Micros, OperationId, ProjectId, RuntimeId, SessionId, TaskId, TokenId, TurnId,
    event::EventType,
    limit::Amount,
    records::{Account, Member, Runtime, Session, Token},
    session::{SessionCommand, SessionState},
    task::{End, TaskCommand, TaskState, TaskStateWord},
    words::{FailReason, Role, UnknownReason},
};
use mate_store::{
    LedgerError,
    ledger::{Claim, IdempotencyKey, IdempotencyRecord},
};
use serde_json::json;

on_both!(
    names_are_taken_once_and_free_again_after_a_removal,
    g07_every_change_of_authority_raises_the_version,
    a_tokens_authority_is_judged_as_it_stands,
    members_have_one_role_each,
    a_task_is_numbered_in_its_session_and_reads_back,
    a_task_brings_its_session_or_neither_is_there,
    no_task_enters_an_archived_project_or_a_closed_session,
    g12_a_repeated_request_finds_the_first_answer,
    a_key_without_a_script_is_claimed_and_finished,
    g02_a_session_runs_one_task,
    a_move_from_an_old_state_changes_nothing,
    an_admission_sees_the_task_and_the_version,
    a_limited_grant_is_used_up_exactly,
    unfinished_sessions_are_found_and_finished_ones_are_not,
    g05_an_unknown_task_has_its_attention_first,
    g13_a_clock_that_went_back_is_refused,
    an_anchor_never_goes_back,
    a_session_is_hosted_with_a_growing_epoch,
    lists_are_paged,
);

async fn names_are_taken_once_and_free_again_after_a_removal(world: World) {
    let ledger = &world.ledger;
    let runtime = |name: &str| Runtime {
        id: RuntimeId::new(uuid()),
        name: name.to_owned(),
        registration: json!({}),
        quiet_seconds: None,
        deadline_seconds: None,
        created_at: at(1),
        removed_at: None,
    };
    assert_eq!(ledger.add_runtime(&runtime("scripted")).await, Err(LedgerError::Taken("runtime")));
    ledger.remove_runtime(world.runtime, at(2)).await.unwrap();
    assert_eq!(ledger.remove_runtime(world.runtime, at(2)).await, Err(LedgerError::NotFound("runtime")));
    let second = runtime("scripted");
    ledger.add_runtime(&second).await.unwrap();
    assert_eq!(ledger.runtime_by_name("scripted").await.unwrap(), Some(second));
    assert_eq!(ledger.runtime(world.runtime).await.unwrap().unwrap().removed_at, Some(at(2)));

    let mut connection = ledger.connection_by_name("tracker").await.unwrap().unwrap();
    assert_eq!(connection.sealed, Some(vec![1, 7, 7, 7, 7, 0, 255]));
    let before = connection.clone();
    connection.sealed = Some(vec![1, 7, 7, 7, 7, 9]);
    connection.settings.headers = vec!["authorization".to_owned()];
    ledger.change_connection(&connection, &before).await.unwrap();
    // Whoever read it before that changes nothing, be it the secrets or the settings.
    let late = mate_model::records::Connection { sealed: connection.sealed.clone(), ..before.clone() };
    for before in [&before, &late] {
        let lost = ledger.change_connection(before, before).await;
        assert_eq!(lost, Err(LedgerError::NotFound("connection")));
    }
    assert_eq!(ledger.connection(world.connection).await.unwrap(), Some(connection.clone()));
    assert_eq!(ledger.add_connection(&connection).await, Err(LedgerError::Taken("connection")));
    ledger.remove_connection(world.connection, at(3)).await.unwrap();
    // Its secrets go with it.
    assert_eq!(ledger.connection(world.connection).await.unwrap().unwrap().sealed, None);
    assert_eq!(ledger.connections(None, 10).await.unwrap().items, []);
}

async fn g07_every_change_of_authority_raises_the_version(world: World) {
    let ledger = &world.ledger;
    let mut version = ledger.authorisation_version().await.unwrap();
    macro_rules! raises {
        ($($call:expr),+ $(,)?) => { $(
            $call.await.unwrap();
            let raised = ledger.authorisation_version().await.unwrap();
            assert!(raised > version, "{}", stringify!($call));
            version = raised;
        )+ };
    }
    let bob = Account {
        id: AccountId::new(uuid()),
        name: "bob".to_owned(),
        admin: false,
        disabled_at: None,
        created_at: at(1),
    };
    let member = Member { project: world.project, account: bob.id, role: Role::Operator, added_at: at(1) };
    let grant = world.grant(None);
    let (house, other) = (policy(&world, "house"), policy(&world, "house"));
    let connection = ledger.connection(world.connection).await.unwrap().unwrap();
    let last = ledger.revoke_token(world.token, at(2), false).await;
    assert_eq!(last, Err(LedgerError::LastToken), "judged within the script");
    world.add_a_spare_token().await;
    raises!(
        ledger.add_account(&bob),
        ledger.set_member(&member, draft(EventType::MemberSet, None)),
        ledger.remove_member(world.project, bob.id, draft(EventType::MemberRemoved, None)),
        ledger.add_grant(&grant, draft(EventType::GrantAdded, None)),
        ledger.renew_grant(world.project, grant.id, at(2), None, draft(EventType::GrantRenewed, None)),
        ledger.add_policy(&house, None),
        ledger.add_policy(&other, Some(house.id)),
        ledger.remove_policy(other.id, at(2)),
        ledger.revoke_grant(world.project, grant.id, at(2), draft(EventType::GrantRevoked, None)),
        ledger.change_connection(&connection, &connection),
        ledger.remove_connection(world.connection, at(2)),
        ledger.revoke_token(world.token, at(2), false),
        ledger.disable_account(bob.id, at(2)),
        ledger.enable_account(bob.id),
        ledger.archive_project(world.project, at(2), draft(EventType::ProjectArchived, None)),
    );
    // What was refused raises nothing.
    assert_eq!(ledger.enable_account(bob.id).await, Err(LedgerError::NotFound("account")));
    assert_eq!(ledger.authorisation_version().await.unwrap(), version);
}

async fn a_tokens_authority_is_judged_as_it_stands(world: World) {
    let ledger = &world.ledger;
    let token = Token {
        id: TokenId::new(uuid()),
        account: world.account,
        hash: [9; 32],
        project: Some(world.project),
        role: Some(Role::Viewer),
        expires_at: Some(at(50)),
        revoked_at: None,
        created_at: at(1),
        last_used_at: None,
        made_with: None,
    };
    ledger.add_token(&token).await.unwrap();
    let authority = ledger.authority([9; 32]).await.unwrap().unwrap();
    assert_eq!((&authority.token, authority.account.name.as_str()), (&token, "ada"));
    assert!(authority.holds(at(49)) && !authority.holds(at(50)));
    assert_eq!(ledger.authority([8; 32]).await.unwrap(), None);
    assert_eq!(ledger.tokens(world.account, None, 10).await.unwrap().items.len(), 2);
    ledger.revoke_token(token.id, at(3), false).await.unwrap();
    assert!(!ledger.authority([9; 32]).await.unwrap().unwrap().holds(at(4)));
    let alone = ledger.disable_account(world.account, at(4)).await;
    assert_eq!(alone, Err(LedgerError::LastAdministrator), "nobody else administers");
    assert!(ledger.authority([7; 32]).await.unwrap().unwrap().holds(at(4)), "nothing was half-done");
    world.add_another_administrator().await;
    ledger.touch_token(world.token, at(4)).await.unwrap();
    ledger.touch_token(world.token, at(3)).await.unwrap();
    assert_eq!(ledger.token(world.token).await.unwrap().unwrap().last_used_at, Some(at(4)));
    ledger.disable_account(world.account, at(4)).await.unwrap();
    assert!(!ledger.authority([7; 32]).await.unwrap().unwrap().holds(at(5)));
    let made = Token { id: TokenId::new(uuid()), hash: [2; 32], made_with: Some(token.id), ..token.clone() };
    let refused = ledger.add_token(&made).await;
    assert_eq!(refused, Err(LedgerError::Conflict("token")), "what it is made with is revoked");
    let of_disabled = Token { made_with: Some(world.token), ..made };
    assert_eq!(ledger.add_token(&of_disabled).await, Err(LedgerError::Conflict("token")));
    let stranger =
        Token { id: TokenId::new(uuid()), account: AccountId::new(uuid()), hash: [1; 32], ..token };
    assert_eq!(ledger.add_token(&stranger).await, Err(LedgerError::NotFound("account or project")));
}

async fn members_have_one_role_each(world: World) {
    let ledger = &world.ledger;
    assert_eq!(ledger.role_of(world.project, world.account).await.unwrap(), Some(Role::Owner));
    let member =
        Member { project: world.project, account: world.account, role: Role::Viewer, added_at: at(9) };
    ledger.set_member(&member, draft(EventType::MemberSet, None)).await.unwrap();
    assert_eq!(ledger.role_of(world.project, world.account).await.unwrap(), Some(Role::Viewer));
    let members = ledger.members(world.project, None, 10).await.unwrap().items;
    assert_eq!(members, [Member { added_at: at(0), ..member }]);
    assert_eq!(ledger.projects(Some(world.account), None, 10).await.unwrap().items.len(), 1);
    ledger.remove_member(world.project, world.account, draft(EventType::MemberRemoved, None)).await.unwrap();
    assert_eq!(ledger.role_of(world.project, world.account).await.unwrap(), None);
    assert_eq!(ledger.projects(Some(world.account), None, 10).await.unwrap().items.len(), 0);
}

async fn a_task_is_numbered_in_its_session_and_reads_back(world: World) {
    let (one, two) = (world.add_session().await, world.add_session().await);
    let tasks = [world.submit(one.id).await, world.submit(one.id).await, world.submit(two.id).await];
    assert_eq!(tasks.each_ref().map(|task| task.number), [1, 2, 1]);
    let new = world.new_task(two.id);
    let approval = TaskState::Proposed.decide(TaskCommand::Approve { by: world.account }, at(4)).unwrap();
    let drafts =
        [draft(EventType::TaskSubmitted, Some(new.id)), draft(EventType::TaskApproved, Some(new.id))];
    let new = mate_store::ledger::NewTask { approval: Some(approval), ..new };
    let submitted = world.ledger.submit(new.clone(), &drafts, None).await.unwrap();
    assert_eq!(submitted.task.state, TaskState::Accepted { by: world.account, at: at(4) });
    assert_eq!(submitted.task.instructions, new.instructions);
    assert_eq!(submitted.task.policy, new.policy);
    assert_eq!(world.ledger.task(new.id).await.unwrap(), Some(submitted.task.clone()));
    assert_eq!(world.ledger.next_accepted(two.id).await.unwrap(), Some(submitted.task.clone()));
    let events = world.ledger.events_of_task(new.id, 0, 10).await.unwrap().items;
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [submitted.seq - 1, submitted.seq]);
    assert_eq!(events.iter().map(|event| event.prev).collect::<Vec<_>>(), [None, Some(submitted.seq - 1)]);
    let of_session = world.ledger.tasks_of_session(two.id, None, 10).await.unwrap().items;
    assert_eq!(of_session.iter().map(|task| task.number).collect::<Vec<_>>(), [2, 1]);
}

async fn a_task_brings_its_session_or_neither_is_there(world: World) {
    let session = Session {
        id: SessionId::new(uuid()),
        project: world.project,
        runtime: world.runtime,
        workspace: "/srv/x".to_owned(),
        state: SessionState::Idle { epoch: Epoch(0) },
        created_at: at(1),
        containment: None,
    };
    let new = world.new_task(session.id);
    let submitted = [draft(EventType::TaskSubmitted, Some(new.id))];
    let mut broken = new.clone();
    broken.new_session = Some(session.clone());
    broken.token = TokenId::new(uuid());
    let refused = world.ledger.submit(broken, &submitted, None).await.unwrap_err();
    assert_eq!(refused, LedgerError::NotFound("session, account or token"));
    assert_eq!(world.ledger.session(session.id).await.unwrap(), None);
    let new = mate_store::ledger::NewTask { new_session: Some(session.clone()), ..new };
    world.ledger.submit(new, &submitted, None).await.unwrap();
    assert_eq!(world.ledger.session(session.id).await.unwrap(), Some(session));
}

async fn no_task_enters_an_archived_project_or_a_closed_session(world: World) {
    let session = world.add_session().await;
    let closing = session.state.decide(SessionCommand::Close, at(3)).unwrap();
    let closed = draft(EventType::SessionClosed, None);
    world.ledger.apply_session(&session, &closing, Some(closed)).await.unwrap();
    let new = world.new_task(session.id);
    let refused = world.ledger.submit(new, &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::SessionClosed);
    let open = world.add_session().await;
    let archived = draft(EventType::ProjectArchived, None);
    world.ledger.archive_project(world.project, at(4), archived).await.unwrap();
    let refused = world.ledger.submit(world.new_task(open.id), &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::Archived);
    let mut elsewhere = world.new_task(open.id);
    elsewhere.project = ProjectId::new(uuid());
    let refused = world.ledger.submit(elsewhere, &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::NotFound("project"));
    assert_eq!(world.ledger.tasks(world.project, None, None, 10).await.unwrap().items, []);
}

fn key(world: &World, body: u8) -> IdempotencyKey {
    IdempotencyKey {
        account: world.account,
        route: "POST /tasks".to_owned(),
        key: "k1".to_owned(),
        body_digest: [body; 32],
    }
}

async fn g12_a_repeated_request_finds_the_first_answer(world: World) {
    let session = world.add_session().await;
    let record = |task: TaskId| IdempotencyRecord {
        key: key(&world, 1),
        status: 201,
        body: json!({"task": task}).to_string(),
        at: at(2),
    };
    let first = world.new_task(session.id);
    assert_eq!(world.ledger.replay(&key(&world, 1)).await.unwrap(), None);
    world.ledger.submit(first.clone(), &[], Some(&record(first.id))).await.unwrap();
    let head = world.ledger.head(world.project).await.unwrap();
    let second = world.new_task(session.id);
    let drafts = [draft(EventType::TaskSubmitted, Some(second.id))];
    let again = world.ledger.submit(second.clone(), &drafts, Some(&record(second.id))).await;
    assert_eq!(again.unwrap_err(), LedgerError::KeyUsed);
    assert_eq!(world.ledger.task(second.id).await.unwrap(), None);
    assert_eq!(world.ledger.head(world.project).await.unwrap(), head);
    let replay = world.ledger.replay(&key(&world, 1)).await.unwrap();
    assert_eq!(replay, Some(Claim::Replay { status: 201, body: record(first.id).body }));
    assert_eq!(world.ledger.replay(&key(&world, 2)).await.unwrap(), Some(Claim::Mismatch));
}

async fn a_key_without_a_script_is_claimed_and_finished(world: World) {
    let ledger = &world.ledger;
    assert_eq!(ledger.claim(&key(&world, 1), at(1)).await.unwrap(), Claim::Fresh);
    assert_eq!(ledger.claim(&key(&world, 1), at(2)).await.unwrap(), Claim::InProgress { since: Some(at(1)) });
    assert_eq!(ledger.claim(&key(&world, 3), at(2)).await.unwrap(), Claim::Mismatch);
    ledger.release(&key(&world, 1)).await.unwrap();
    assert_eq!(ledger.claim(&key(&world, 1), at(3)).await.unwrap(), Claim::Fresh);
    ledger.finish(&key(&world, 1), 200, "{}").await.unwrap();
    ledger.finish(&key(&world, 1), 500, "late").await.unwrap();
    ledger.release(&key(&world, 1)).await.unwrap();
    let replay = Claim::Replay { status: 200, body: "{}".to_owned() };
    assert_eq!(ledger.claim(&key(&world, 1), at(4)).await.unwrap(), replay);
    assert_eq!(ledger.forget_keys(at(9)).await.unwrap(), 1);
}

async fn g02_a_session_runs_one_task(world: World) {
    let session = world.add_session().await;
    let (first, second) = (world.accepted(session.id).await, world.accepted(session.id).await);
    assert_eq!(world.ledger.next_accepted(session.id).await.unwrap().map(|task| task.id), Some(first.id));
    let claim = || TaskCommand::Claim { turn: TurnId::new(uuid()), epoch: Epoch(1) };
    let first = world.command(&first, claim()).await;
    let transition = second.state.decide(claim(), at(9)).unwrap();
    let started = draft(EventType::TaskStarted, Some(second.id));
    let refused = world.ledger.apply_task(&second, &transition, started, &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::Conflict("task"));
    assert_eq!(world.ledger.running(session.id).await.unwrap(), Some(first.clone()));
    assert_eq!(world.ledger.next_accepted(session.id).await.unwrap(), Some(second));
    let stopping = world.command(&first, TaskCommand::Stop { by: Some(world.account), kill: false }).await;
    assert_eq!(world.ledger.running(session.id).await.unwrap(), Some(stopping));
}

async fn a_move_from_an_old_state_changes_nothing(world: World) {
    let session = world.add_session().await;
    let running = world.running(session.id).await;
    let reclaim = |epoch| {
        running.state.decide(TaskCommand::Claim { turn: TurnId::new(uuid()), epoch: Epoch(epoch) }, at(9))
    };
    let (second, third) = (reclaim(2).unwrap(), reclaim(3).unwrap());
    let started = || draft(EventType::TaskRestarted, Some(running.id));
    world.ledger.apply_task(&running, &second, started(), &[], None).await.unwrap();
    let head = world.ledger.head(world.project).await.unwrap();
    // Both start at `running`, but the epoch has moved on.
    let refused = world.ledger.apply_task(&running, &third, started(), &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::Conflict("task"));
    assert_eq!(world.ledger.head(world.project).await.unwrap(), head);
    let stored = world.ledger.task(running.id).await.unwrap().unwrap();
    assert_eq!(stored.state.run().map(|run| run.epoch), Some(Epoch(2)));
}

async fn an_admission_sees_the_task_and_the_version(world: World) {
    let session = world.add_session().await;
    let task = world.running(session.id).await;
    let row = world.ledger.admission(task.id).await.unwrap().unwrap();
    assert_eq!(row.authorisation_version, world.ledger.authorisation_version().await.unwrap());
    assert_eq!((row.state, row.epoch, row.stop_kill), (TaskStateWord::Running, Some(Epoch(1)), false));
    assert_eq!(row.turn, task.state.run().map(|run| run.turn));
    let authority = world.ledger.authority_of(task.id).await.unwrap().unwrap();
    assert_eq!((authority.role, authority.token_revoked_at), (Some(Role::Owner), None));
    world.add_a_spare_token().await;
    world.ledger.revoke_token(world.token, at(7), false).await.unwrap();
    let removed = draft(EventType::MemberRemoved, None);
    world.ledger.remove_member(world.project, world.account, removed).await.unwrap();
    world.add_another_administrator().await;
    world.ledger.disable_account(world.account, at(8)).await.unwrap();
    world
        .ledger
        .archive_project(world.project, at(9), draft(EventType::ProjectArchived, None))
        .await
        .unwrap();
    let authority = world.ledger.authority_of(task.id).await.unwrap().unwrap();
    assert_eq!((authority.role, authority.token_revoked_at), (None, Some(at(7))));
    assert_eq!((authority.proposer_disabled_at, authority.project_archived_at), (Some(at(8)), Some(at(9))));
    assert!(
        world.ledger.admission(task.id).await.unwrap().unwrap().authorisation_version
            > row.authorisation_version
    );
    assert_eq!(world.ledger.admission(TaskId::new(uuid())).await.unwrap(), None);
}

async fn a_limited_grant_is_used_up_exactly(world: World) {
    let grant = world.grant(Some(5));
    world.ledger.add_grant(&grant, draft(EventType::GrantAdded, None)).await.unwrap();
    let reservations = (0..12).map(|_| {
        let (ledger, id) = (world.ledger.clone(), grant.id);
        tokio::spawn(async move { ledger.reserve_call(id, Amount::default()).await.unwrap() })
    });
    let mut reserved = 0;
    for reservation in reservations.collect::<Vec<_>>() {
        reserved += i32::from(reservation.await.unwrap());
    }
    assert_eq!(reserved, 5);
    assert_eq!(world.ledger.grant(grant.id).await.unwrap().unwrap().used_calls, 5);
    let free = world.grant(None);
    world.ledger.add_grant(&free, draft(EventType::GrantAdded, None)).await.unwrap();
    assert!(world.ledger.reserve_call(free.id, Amount::default()).await.unwrap());
    let live = world.ledger.live_grants(world.project, None, 10).await.unwrap().items;
    assert_eq!(live.iter().map(|grant| grant.id).collect::<Vec<_>>(), [grant.id, free.id]);
    world
        .ledger
        .revoke_grant(world.project, free.id, at(5), draft(EventType::GrantRevoked, None))
        .await
        .unwrap();
    assert!(!world.ledger.reserve_call(free.id, Amount::default()).await.unwrap());
    assert_eq!(world.ledger.live_grants(world.project, None, 10).await.unwrap().items.len(), 1);
    assert_eq!(world.ledger.grants(world.project, None, 10).await.unwrap().items.len(), 2);
    let unknown = GrantId::new(uuid());
    let refused =
        world.ledger.revoke_grant(world.project, unknown, at(5), draft(EventType::GrantRevoked, None)).await;
    assert_eq!(refused, Err(LedgerError::NotFound("grant")));
    world.ledger.remove_connection(world.connection, at(6)).await.unwrap();
    assert_eq!(world.ledger.live_grants(world.project, None, 10).await.unwrap().items, []);
}

async fn unfinished_sessions_are_found_and_finished_ones_are_not(world: World) {
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(world.add_session().await);
    }
    let [hosted, waiting, running, _idle] = <[Session; 4]>::try_from(sessions).unwrap();
    let hosting = hosted.state.decide(SessionCommand::Host, at(3)).unwrap();
    world.ledger.apply_session(&hosted, &hosting, None).await.unwrap();
    world.accepted(waiting.id).await;
    let task = world.running(running.id).await;
    let found = world.ledger.unfinished(at(9), None, 10).await.unwrap().items;
    let ids: Vec<_> = found.iter().map(|session| session.id).collect();
    assert_eq!(ids, [hosted.id, waiting.id, running.id]);
    let first = world.ledger.unfinished(at(9), None, 2).await.unwrap();
    assert_eq!((first.items.len(), first.next), (2, Some(waiting.id)));
    assert_eq!(world.ledger.unfinished(at(9), first.next, 2).await.unwrap().items, found[2..]);
    let end = End::Failed { reason: FailReason::Refused, detail: String::new() };
    world.command(&task, TaskCommand::Conclude { epoch: Epoch(1), end, uncertain: None }).await;
    assert_eq!(world.ledger.unfinished(at(9), None, 10).await.unwrap().items.len(), 2);
}

async fn g05_an_unknown_task_has_its_attention_first(world: World) {
    let session = world.add_session().await;
    let task = world.running(session.id).await;
    let subjects: Vec<_> =
        (1..=2_100).map(|number| OperationId { session: session.id, number }.to_string()).collect();
    let end = End::Completed { report: None };
    let command = TaskCommand::Conclude { epoch: Epoch(1), end, uncertain: Some(UnknownReason::Operations) };
    let transition = task.state.decide(command, at(8)).unwrap();
    let unknown = || draft(EventType::TaskUnknown, Some(task.id));
    world.ledger.apply_task(&task, &transition, unknown(), &subjects, None).await.unwrap();
    assert_eq!(world.ledger.open_count(task.id).await.unwrap(), 2_100);
    // Opened again, it changes nothing.
    world.ledger.open_attention(&task, &subjects[..10], at(99)).await.unwrap();
    let said = || draft(EventType::TaskResolved, Some(task.id));
    assert!(world.ledger.close_attention(&task, &subjects[0], said()).await.unwrap());
    assert!(!world.ledger.close_attention(&task, &subjects[0], said()).await.unwrap());
    let mut seen = 0;
    let mut after = None;
    loop {
        let page = world.ledger.attention(world.project, after, 1_000).await.unwrap();
        assert!(page.items.iter().all(|item| item.task == task.id && item.opened_at == at(8)));
        seen += page.items.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, 2_099);
    assert_eq!(world.ledger.attention_of(task.id, None, 10).await.unwrap().items.len(), 10);
    let task = world.ledger.task(task.id).await.unwrap().unwrap();
    world.command(&task, TaskCommand::Settle).await;
    assert_eq!(world.ledger.open_count(task.id).await.unwrap(), 0);
    let many = vec![String::new(); mate_store::ledger::MAX_SUBJECTS + 1];
    let refused = world.ledger.apply_task(&task, &transition, unknown(), &many, None).await.unwrap_err();
    assert!(matches!(refused, LedgerError::TooMany { .. }));
}

async fn g13_a_clock_that_went_back_is_refused(world: World) {
    let ledger = &world.ledger;
    ledger.observe_time(at(10_000_000)).await.unwrap();
    ledger.observe_time(at(8_100_000)).await.unwrap();
    let other = world.other_ledger().await;
    let refused = LedgerError::ClockBehind { now: at(7_900_000), highest: at(10_000_000) };
    assert_eq!(ledger.observe_time(at(7_900_000)).await, Err(refused.clone()));
    assert_eq!(other.observe_time(at(7_900_000)).await, Err(refused));
    // Another process moves it on; this one notices when its own view is a second old, or the clock goes back.
    other.observe_time(at(20_000_000)).await.unwrap();
    assert!(ledger.observe_time(at(12_000_000)).await.is_err());
    ledger.observe_time(at(20_000_001)).await.unwrap();
    assert!(ledger.observe_time(Micros(i64::MIN)).await.is_err());
}

async fn an_anchor_never_goes_back(world: World) {
    let session = world.add_session().await;
    assert_eq!(world.ledger.anchored(session.id).await.unwrap(), None);
    world.ledger.anchor(session.id, 7, [7; 32]).await.unwrap();
    world.ledger.anchor(session.id, 5, [5; 32]).await.unwrap();
    assert_eq!(world.ledger.anchored(session.id).await.unwrap(), Some((7, [7; 32])));
}

async fn a_session_is_hosted_with_a_growing_epoch(world: World) {
    let session = world.add_session().await;
    let first = session.state.decide(SessionCommand::Host, at(3)).unwrap();
    world.ledger.apply_session(&session, &first, None).await.unwrap();
    let refused = world.ledger.apply_session(&session, &first, None).await;
    assert_eq!(refused, Err(LedgerError::Conflict("session")));
    let hosted = world.ledger.session(session.id).await.unwrap().unwrap();
    assert_eq!(hosted.state, SessionState::Hosted { epoch: Epoch(1), since: at(3) });
    let second = hosted.state.decide(SessionCommand::Host, at(4)).unwrap();
    world.ledger.apply_session(&hosted, &second, None).await.unwrap();
    // Both are hosted, but not with the same epoch.
    let stale = hosted.state.decide(SessionCommand::Release { epoch: Epoch(1) }, at(5)).unwrap();
    let refused = world.ledger.apply_session(&hosted, &stale, None).await;
    assert_eq!(refused, Err(LedgerError::Conflict("session")));
    let hosted = world.ledger.session(session.id).await.unwrap().unwrap();
    let release = hosted.state.decide(SessionCommand::Release { epoch: Epoch(2) }, at(6)).unwrap();
    world.ledger.apply_session(&hosted, &release, None).await.unwrap();
    let idle = world.ledger.session(session.id).await.unwrap().unwrap();
    assert_eq!(idle.state, SessionState::Idle { epoch: Epoch(2) });
}

async fn lists_are_paged(world: World) {
    let session = world.add_session().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.submit(session.id).await.id);
    }
    ids.reverse();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = world.ledger.tasks(world.project, None, before, 2).await.unwrap();
        assert!(page.items.len() <= 2 && page.corrupt.is_empty());
        seen.extend(page.items.iter().map(|task| task.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let accepted = TaskStateWord::Accepted;
    assert_eq!(world.ledger.tasks(world.project, Some(accepted), None, 2).await.unwrap().items, []);
    let proposed = Some(TaskStateWord::Proposed);
    assert_eq!(world.ledger.tasks(world.project, proposed, None, 9).await.unwrap().items.len(), 5);
    assert_eq!(world.ledger.accounts(None, 1).await.unwrap().items.len(), 1);
    assert_eq!(world.ledger.sessions(world.project, None, 10).await.unwrap().items, [session]);
    assert_eq!(world.ledger.runtimes(None, 10).await.unwrap().items.len(), 1);
    assert_eq!(world.ledger.projects(None, None, 10).await.unwrap().items.len(), 1);
}
