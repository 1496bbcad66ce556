//! Limits, pins and policies in the ledger.

use crate::support::{World, at, draft, on_both, uuid};
use mate_model::{
    PolicyId,
    event::EventType,
    limit::{Amount, Rate, Spend},
    records::{Pin, PinChange, Policy, Terms},
};
use mate_store::LedgerError;

on_both!(
    spending_never_goes_beyond_what_there_is,
    the_first_pin_stands_until_the_grant_is_renewed,
    policies_have_names_and_a_number,
);

pub(crate) fn policy(world: &World, name: &str) -> Policy {
    Policy {
        id: PolicyId::new(uuid()),
        name: name.to_owned(),
        text: "forbid (principal, action, resource);".to_owned(),
        created_by: world.account,
        created_at: at(4),
        removed_at: None,
    }
}

/// Many sessions at once, with amounts of all sizes: what was reserved adds up to what is used, and never to more than
/// there is.
async fn spending_never_goes_beyond_what_there_is(world: World) {
    let amount = |text: &str| text.parse::<Amount>().unwrap();
    let spend =
        Spend { max: amount("100"), used: Amount::default(), cost: Some(amount("0.25")), fields: Vec::new() };
    let terms = Terms { needs_permit: true, rate: "5/min".parse::<Rate>().ok(), spend: Some(spend) };
    let grant = mate_model::records::Grant { terms, ..world.grant(Some(1_000)) };
    world.ledger.add_grant(&grant, draft(EventType::GrantAdded, None)).await.unwrap();
    assert_eq!(world.ledger.grant(grant.id).await.unwrap(), Some(grant.clone()));
    let sessions = (0..24i64).map(|session| {
        let (ledger, id) = (world.ledger.clone(), grant.id);
        tokio::spawn(async move {
            let mut reserved = 0;
            for call in 0..6i64 {
                let wish = Amount::of_millionths((session * 31 + call * 17) % 7 * 1_300_000 + 1).unwrap();
                if ledger.reserve_call(id, wish).await.unwrap() {
                    reserved += wish.millionths();
                }
            }
            reserved
        })
    });
    let mut reserved = 0;
    for session in sessions.collect::<Vec<_>>() {
        reserved += session.await.unwrap();
    }
    let used = |grant: mate_model::records::Grant| grant.terms.spend.map(|spend| spend.used.millionths());
    let now = world.ledger.grant(grant.id).await.unwrap().unwrap();
    assert_eq!(used(now), Some(reserved));
    assert!(reserved <= amount("100").millionths() && reserved > amount("95").millionths(), "{reserved}");
    assert!(!world.ledger.reserve_call(grant.id, amount("9")).await.unwrap());
    // A grant without such a limit takes no amount: it would be counted nowhere.
    let free = world.grant(None);
    world.ledger.add_grant(&free, draft(EventType::GrantAdded, None)).await.unwrap();
    assert!(!world.ledger.reserve_call(free.id, amount("1")).await.unwrap());
}

async fn the_first_pin_stands_until_the_grant_is_renewed(world: World) {
    let (ledger, grant) = (&world.ledger, world.grant(None));
    ledger.add_grant(&grant, draft(EventType::GrantAdded, None)).await.unwrap();
    let pin = |tool: &str, digest: &str| Pin {
        grant: grant.id,
        tool: tool.to_owned(),
        digest: digest.to_owned(),
        fields: std::collections::BTreeMap::new(),
        pinned_at: at(5),
        change: None,
    };
    ledger.add_pins(&[pin("a", "1"), pin("b", "1")]).await.unwrap();
    ledger.add_pins(&[pin("a", "2"), pin("c", "1")]).await.unwrap();
    let digests = async || {
        let live = ledger.live_pins(world.project, None, 10).await.unwrap().items;
        live.into_iter().map(|pin| pin.digest).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(digests().await, "1 1 1");
    let page = ledger.live_pins(world.project, None, 2).await.unwrap();
    let rest = ledger.live_pins(world.project, page.next, 2).await.unwrap();
    assert_eq!((page.items.len(), rest.items.len(), rest.next), (2, 1, None));
    let note = async |tool: &str, digest: &str| {
        let change = PinChange { digest: digest.to_owned(), fields: pin(tool, "").fields, seen_at: at(6) };
        let draft = draft(EventType::GrantDefinitionChanged, None);
        ledger.note_change(world.project, (grant.id, tool), &change, draft).await.unwrap()
    };
    assert!(note("a", "2").await);
    assert!(!note("a", "2").await, "once");
    assert!(!note("a", "1").await, "that is the pinned one");
    assert!(note("a", "3").await && note("b", "2").await);
    ledger.forget_change(grant.id, "b", "2").await.unwrap();
    assert_eq!(ledger.changed_tools(grant.id).await.unwrap(), 2, "only the pinned one makes it good again");
    ledger.forget_change(grant.id, "b", "1").await.unwrap();
    assert_eq!(ledger.changed_tools(grant.id).await.unwrap(), 1);
    let renewed = draft(EventType::GrantRenewed, None);
    ledger.renew_grant(world.project, grant.id, at(7), Some(at(900)), renewed).await.unwrap();
    assert_eq!(digests().await, "3 1 1");
    assert_eq!(ledger.grant(grant.id).await.unwrap().unwrap().expires_at, Some(at(900)));
    let renewed = draft(EventType::GrantRenewed, None);
    ledger.renew_grant(world.project, grant.id, at(8), None, renewed).await.unwrap();
    assert_eq!(ledger.grant(grant.id).await.unwrap().unwrap().expires_at, Some(at(900)));
    assert_eq!(ledger.pins(grant.id, Some("a"), 10).await.unwrap().items.len(), 2);
    let revoked = draft(EventType::GrantRevoked, None);
    ledger.revoke_grant(world.project, grant.id, at(9), revoked).await.unwrap();
    let renewed = draft(EventType::GrantRenewed, None);
    let refused = ledger.renew_grant(world.project, grant.id, at(9), None, renewed).await;
    assert_eq!((refused, digests().await), (Err(LedgerError::NotFound("grant")), String::new()));
}

async fn policies_have_names_and_a_number(world: World) {
    let (ledger, house) = (&world.ledger, policy(&world, "house"));
    ledger.add_policy(&house, None).await.unwrap();
    assert_eq!(ledger.policy(house.id).await.unwrap(), Some(house.clone()));
    assert_eq!(ledger.add_policy(&policy(&world, "house"), None).await, Err(LedgerError::Taken("policy")));
    let second = policy(&world, "house");
    ledger.add_policy(&second, Some(house.id)).await.unwrap();
    assert_eq!(ledger.policy_by_name("house").await.unwrap(), Some(second.clone()));
    let gone = ledger.add_policy(&policy(&world, "x"), Some(house.id)).await;
    assert_eq!(gone, Err(LedgerError::Conflict("policy")));
    for number in 1..mate_store::ledger::MAX_POLICIES {
        ledger.add_policy(&policy(&world, &format!("p{number}")), None).await.unwrap();
    }
    assert_eq!(ledger.add_policy(&policy(&world, "more"), None).await, Err(LedgerError::Conflict("policy")));
    let instead = policy(&world, "p1");
    let first = ledger.policy_by_name("p1").await.unwrap().unwrap();
    ledger.add_policy(&instead, Some(first.id)).await.unwrap();
    let page = ledger.policies(None, 60).await.unwrap();
    let rest = ledger.policies(page.next, 60).await.unwrap();
    assert_eq!((page.items.len(), rest.items.len()), (60, 40));
    ledger.remove_policy(second.id, at(9)).await.unwrap();
    assert_eq!(ledger.remove_policy(second.id, at(9)).await, Err(LedgerError::NotFound("policy")));
    ledger.add_policy(&policy(&world, "house"), None).await.unwrap();
}
