//! The keys of a home: which seals, and when one may go.

use crate::support::{World, at, on_both};
use mate_store::{LedgerError, ledger::SealedIn};

on_both!(g09_no_key_goes_that_something_is_sealed_under);

async fn g09_no_key_goes_that_something_is_sealed_under(world: World) {
    let (old, new) = ([7; 4], [8; 4]);
    let before = world.ledger.keys().await.expect("keys");
    assert_eq!(before.iter().map(|key| (key.id, key.seals)).collect::<Vec<_>>(), [(old, true)]);
    assert_eq!(world.ledger.first_key(new, &[1, 8, 8, 8, 8], at(1)).await, Err(LedgerError::Taken("key")));
    world.ledger.change_key(old, new, at(2)).await.expect("changed");
    let again = world.ledger.change_key(old, [9; 4], at(2)).await;
    assert_eq!(again, Err(LedgerError::Conflict("key")), "two at once");
    assert_eq!(world.ledger.retire_key(old, at(3)).await, Ok(false), "the connection and the home's secret");
    assert_eq!(world.ledger.retire_key(new, at(3)).await, Err(LedgerError::NotFound("key")), "it seals");
    for place in SealedIn::ALL {
        let values = world.ledger.not_sealed_under(place, new, "", 10).await.expect("read");
        let under = |mut sealed: Vec<u8>| {
            sealed[1..5].copy_from_slice(&new);
            sealed
        };
        let values = values.into_iter().map(|value| (value.clone(), under(value.envelope))).collect();
        world.ledger.reseal(place, values).await.expect("sealed anew");
        assert_eq!(world.ledger.count_sealed(place, old).await, Ok(0));
    }
    assert_eq!(world.ledger.retire_key(old, at(4)).await, Ok(true));
    assert_eq!(world.ledger.key_retired(old).await, Ok(Some(at(4))));
    let late = world.ledger.ask_authorization(world.connection, &[1, 7, 7, 7, 7]).await;
    assert_eq!(late, Err(LedgerError::NotFound("connection")), "nothing is sealed under a key that is gone");
}
