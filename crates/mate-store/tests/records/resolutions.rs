//! Resolutions: the first stands, whatever else comes, and attention says what a person has to look at.

use crate::support::{World, at, draft, on_both};
use mate_model::{
    Epoch, OperationId,
    event::EventType,
    operation::{Evidence, Verdict},
    records::Task,
    resolution::{Acknowledgement, Contradiction, Finding, Resolution},
    task::{End, TaskCommand, TaskStateWord},
    words::{EvidenceKind, UnknownReason},
};
use mate_store::{LedgerError, Unsettled};
use std::sync::Arc;

on_both!(
    g12_of_many_verdicts_at_once_one_stands,
    g05_evidence_to_the_contrary_opens_attention_and_stays_open,
    g05_what_is_unsettled_is_counted_by_what_nobody_resolved,
    g11_what_a_journal_has_not_is_found_and_then_forgotten,
);

fn resolution(world: &World, task: &Task, number: u64, verdict: Verdict) -> Resolution {
    let evidence = Evidence {
        kind: EvidenceKind::Person,
        by: Some(world.account),
        detail: format!("{verdict}: I looked\u{2028}"),
    };
    Resolution {
        operation: OperationId { session: task.session, number },
        project: task.project,
        task: task.id,
        finding: Finding { verdict, evidence, proof: Some("a line\n".to_owned()), permit_repeat: true },
        at: at(20),
        applied_at: None,
        contradictions: 0,
        contradiction: None,
    }
}

fn resolved(task: &Task) -> mate_model::event::Draft {
    draft(EventType::OperationResolved, Some(task.id))
}

/// A task that is unknown because of these operations, and of its own turn if that is wanted.
async fn unknown(world: &World, operations: u64, own: bool) -> Task {
    let session = world.add_session().await;
    let task = world.running(session.id).await;
    let turn = task.state.run().map(|run| run.turn.to_string());
    let subjects: Vec<String> = (1..=operations)
        .map(|number| OperationId { session: session.id, number }.to_string())
        .chain(turn.filter(|_| own))
        .collect();
    let end = End::Completed { report: None };
    let command = TaskCommand::Conclude { epoch: Epoch(1), end, uncertain: Some(UnknownReason::Operations) };
    let transition = task.state.decide(command, at(8)).unwrap();
    let told = draft(EventType::TaskUnknown, Some(task.id));
    world.ledger.apply_task(&task, &transition, told, &subjects, None).await.unwrap();
    world.ledger.task(task.id).await.unwrap().unwrap()
}

async fn g12_of_many_verdicts_at_once_one_stands(world: World) {
    let task = Arc::new(unknown(&world, 1, false).await);
    let world = Arc::new(world);
    let verdicts = [Verdict::Succeeded, Verdict::Failed, Verdict::Abandoned];
    let tries: Vec<_> = (0..12)
        .map(|n| {
            let (world, task) = (Arc::clone(&world), Arc::clone(&task));
            tokio::spawn(async move {
                let mine = resolution(&world, &task, 1, verdicts[n % 3]);
                let won = world.ledger.add_resolution(&mine, resolved(&task)).await.unwrap();
                won.then_some(mine)
            })
        })
        .collect();
    let mut winners = Vec::new();
    for one in tries {
        winners.extend(one.await.unwrap());
    }
    assert_eq!(winners.len(), 1, "exactly one is told that it was first");
    let stands = world.ledger.resolution(winners[0].operation).await.unwrap();
    assert_eq!(stands.as_ref(), winners.first(), "and that one stands, as it was written");
    let events = world.ledger.events_of_task(task.id, 0, 100).await.unwrap().items;
    assert_eq!(events.iter().filter(|event| event.kind == EventType::OperationResolved).count(), 1);
    assert_eq!(world.ledger.open_count(task.id).await.unwrap(), 0);
}

async fn g05_evidence_to_the_contrary_opens_attention_and_stays_open(world: World) {
    let task = unknown(&world, 2, false).await;
    let first = resolution(&world, &task, 1, Verdict::Failed);
    assert!(world.ledger.add_resolution(&first, resolved(&task)).await.unwrap());
    let late = Contradiction {
        verdict: Verdict::Succeeded,
        evidence: Evidence::of(EvidenceKind::LateAnswer, "late"),
        at: at(30),
        acknowledgement: None,
    };
    let told = || draft(EventType::OperationContradicted, Some(task.id));
    world.ledger.contradict(&first, &late, told()).await.unwrap();
    // Whoever had read it before decides again.
    let again = world.ledger.contradict(&first, &late, told()).await;
    assert_eq!(again, Err(LedgerError::Conflict("resolution")));
    let stands = world.ledger.resolution(first.operation).await.unwrap().unwrap();
    assert_eq!((stands.finding.verdict, stands.contradictions), (Verdict::Failed, 1));
    assert_eq!(stands.open_contradiction(), Some(&late));
    assert_eq!(world.ledger.open_count(task.id).await.unwrap(), 2, "the other operation, and this one again");
    assert_eq!(world.ledger.unsettled(&task).await.unwrap(), Unsettled { operations: 1, own: false });
    assert_eq!(world.ledger.to_be_settled(None, 10).await.unwrap(), []);
    // The task takes its end; what says otherwise still needs a person.
    assert!(
        world
            .ledger
            .add_resolution(&resolution(&world, &task, 2, Verdict::Succeeded), resolved(&task))
            .await
            .unwrap()
    );
    assert_eq!(world.ledger.to_be_settled(None, 10).await.unwrap(), [task.id], "found by whoever looks");
    let ended = world.command(&task, TaskCommand::Settle).await;
    assert_eq!(world.ledger.to_be_settled(None, 10).await.unwrap(), []);
    assert_eq!(ended.state.word(), TaskStateWord::Completed);
    let open = world.ledger.attention_of(task.id, None, 10).await.unwrap().items;
    assert_eq!(open.iter().map(|one| one.subject.clone()).collect::<Vec<_>>(), [first.operation.to_string()]);
    let seen = Contradiction {
        acknowledgement: Some(Acknowledgement {
            by: Some(world.account),
            reason: "known".into(),
            at: at(40),
        }),
        ..late
    };
    let noted = draft(EventType::OperationAcknowledged, Some(task.id));
    world.ledger.contradict(&stands, &seen, noted).await.unwrap();
    let stands = world.ledger.resolution(first.operation).await.unwrap().unwrap();
    assert_eq!((stands.contradictions, stands.open_contradiction()), (1, None));
    assert_eq!(world.ledger.open_count(task.id).await.unwrap(), 0);
}

async fn g05_what_is_unsettled_is_counted_by_what_nobody_resolved(world: World) {
    let task = unknown(&world, 1_200, true).await;
    assert_eq!(world.ledger.unsettled(&task).await.unwrap(), Unsettled { operations: 1_200, own: true });
    let turn = task.state.run().is_none().then_some(task.id);
    assert!(turn.is_some(), "the claim is over");
    let own = world.ledger.own_attention(task.id).await.unwrap().expect("the turn");
    let settled = draft(EventType::TaskResolved, Some(task.id));
    assert!(world.ledger.close_attention(&task, &own, settled).await.unwrap());
    assert_eq!(world.ledger.own_attention(task.id).await.unwrap(), None);
    for number in [7, 1_200] {
        let one = resolution(&world, &task, number, Verdict::Abandoned);
        assert!(world.ledger.add_resolution(&one, resolved(&task)).await.unwrap());
    }
    assert_eq!(world.ledger.unsettled(&task).await.unwrap(), Unsettled { operations: 1_198, own: false });
    // Attention that was opened late, for an operation that is resolved already, holds nothing up.
    let subject = OperationId { session: task.session, number: 7 }.to_string();
    world.ledger.open_attention(&task, &[subject], at(50)).await.unwrap();
    assert_eq!(world.ledger.unsettled(&task).await.unwrap().operations, 1_198);
    assert_eq!(world.ledger.unknown_tasks(task.session).await.unwrap(), [task.id]);
}

async fn g11_what_a_journal_has_not_is_found_and_then_forgotten(world: World) {
    let task = unknown(&world, 3, false).await;
    let waiting = world.running(world.add_session().await.id).await;
    for number in [3, 1, 2] {
        let verdict = if number == 2 { Verdict::Failed } else { Verdict::Succeeded };
        let one = resolution(&world, &task, number, verdict);
        assert!(world.ledger.add_resolution(&one, resolved(&task)).await.unwrap());
    }
    let numbers = |page: Vec<Resolution>| page.iter().map(|one| one.operation.number).collect::<Vec<_>>();
    let first = world.ledger.unapplied_resolutions(task.session, 0, 2).await.unwrap();
    assert_eq!((numbers(first.items), first.next), (vec![1, 2], Some(2)));
    let succeeded = world.ledger.unapplied_verdicts(&task, Verdict::Succeeded, 0, 10).await.unwrap();
    assert_eq!(numbers(succeeded.items), [1, 3]);
    assert_eq!(numbers(world.ledger.resolutions(task.id, 2, 3).await.unwrap()), [2, 3]);
    let unfinished = || async {
        let page = world.ledger.unfinished(at(99), None, 10).await.unwrap().items;
        page.iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert!(unfinished().await.contains(&task.session), "somebody has to copy them");
    assert!(!world.ledger.admission(waiting.id).await.unwrap().unwrap().unapplied);
    assert!(world.ledger.admission(task.id).await.unwrap().unwrap().unapplied);
    for number in 1..=3 {
        let id = OperationId { session: task.session, number };
        world.ledger.resolution_applied(id, at(60)).await.unwrap();
        world.ledger.resolution_applied(id, at(61)).await.unwrap();
        assert_eq!(world.ledger.resolution(id).await.unwrap().unwrap().applied_at, Some(at(60)));
    }
    assert!(!world.ledger.admission(task.id).await.unwrap().unwrap().unapplied);
    assert!(!unfinished().await.contains(&task.session));
}
