//! Browsers: when what they hold is over.

use crate::house::House;
use mate_engine::{EngineError, surroundings::SystemEntropy};
use mate_guard::{BrowserCookie, BrowserLink};
use mate_model::Micros;
use mate_store::ledger::NewBrowser;

const SECOND: i64 = 1_000_000;

#[tokio::test]
async fn a_link_and_a_browser_that_are_over_open_nothing() {
    let house = House::new().await;
    let engine = &house.engine;
    let token = engine.authenticate(house.token()).await.expect("its token").token;
    let now = engine.clock.now().0;
    for (left, good) in [(30 * SECOND, true), (-SECOND, false)] {
        let (at, expires_at) = (Micros(now - 60 * SECOND), Micros(now + left));
        let link = BrowserLink::mint(&SystemEntropy);
        engine.ledger.add_browser_link(*link.hash().as_bytes(), token, at, expires_at).await.expect("kept");
        let opened = engine.sign_in_by_link(link.reveal()).await;
        assert!(if good { opened.is_ok() } else { matches!(opened, Err(EngineError::NotAuthenticated)) });
        assert!(matches!(engine.sign_in_by_link(link.reveal()).await, Err(EngineError::NotAuthenticated)));
        let cookie = BrowserCookie::mint(&SystemEntropy);
        let browser = NewBrowser { hash: *cookie.hash().as_bytes(), token, at, expires_at };
        engine.ledger.add_browser(&browser, None).await.expect("kept");
        let found = engine.browser(cookie.reveal()).await;
        assert!(if good { found.is_ok() } else { matches!(found, Err(EngineError::NotAuthenticated)) });
    }
}

#[tokio::test]
async fn a_browser_is_no_longer_signed_in_than_its_token_lasts() {
    let house = House::new().await;
    let made = house.post("/api/v1/tokens", serde_json::json!({ "expires": "1h" })).await.expect(201);
    let signed = house.engine.sign_in(made["token"].as_str().expect("a secret")).await.expect("signed in");
    assert!((3_500..=3_600).contains(&signed.seconds), "{}", signed.seconds);
    let longer = house.engine.sign_in(house.token()).await.expect("signed in");
    assert_eq!(longer.seconds, 7 * 24 * 3_600);
}
