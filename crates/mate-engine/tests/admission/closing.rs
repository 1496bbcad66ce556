//! The desk closes before the turn's end is written, and a clock that was set back admits nothing.

use crate::rig::House;
use mate_engine::admit::Admitted;
use mate_model::words::EffectClass;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn g03_no_intent_is_written_after_admission_was_closed() {
    let house = House::with(EffectClass::Effect).await;
    let rig = Arc::new(house.host().await);
    for round in 0..25 {
        rig.desk.set_current(Some(rig.turn));
        let calls: Vec<_> = (0..16)
            .map(|call| {
                let rig = Arc::clone(&rig);
                tokio::spawn(async move { rig.ask(&format!("{round} {call}"), None, None).await })
            })
            .collect();
        // Some have their intent by now, some are on their way.
        let before = rig.reader.open_count().await.unwrap();
        while rig.reader.open_count().await.unwrap() == before && calls.iter().any(|call| !call.is_finished())
        {
            tokio::task::yield_now().await;
        }
        rig.desk.close().await;
        let closed = rig.reader.open_count().await.unwrap();
        let mut admitted = Vec::new();
        for call in calls {
            if let Admitted::Go(go) = call.await.unwrap() {
                admitted.push(go);
            }
        }
        assert_eq!(rig.reader.open_count().await.unwrap(), closed, "an intent came after the close");
        for go in admitted {
            rig.lose(*go).await;
        }
    }
}

#[tokio::test]
async fn g13_a_clock_that_was_set_back_admits_nothing_until_it_is_right() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    rig.lose(rig.go("a").await).await;
    rig.clock.move_by(-1_000_000);
    rig.lose(rig.go("b").await).await;
    rig.clock.move_by(-3_500_000);
    let why = rig.refused("c").await;
    assert!(why.contains("NOT made") && why.contains("clock"), "{why}");
    assert_eq!(rig.states().await, ["unknown"; 2], "nothing half-done");
    rig.clock.move_by(0);
    rig.lose(rig.go("c").await).await;
}
