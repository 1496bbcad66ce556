//! What clients of the new era want to hear of, and who has to be asked for it.

use super::{Hub, client::Filter, routes};
use crate::core::raw;
use serde_json::json;
use std::sync::Arc;

/// What of a wish can be had: lists always, a resource if its upstream tells of changes.
pub(crate) async fn agreed(hub: &Arc<Hub>, mut filter: Filter) -> Filter {
    if filter.uris.is_empty() {
        return filter;
    }
    hub.ready(hub.limits.list).await;
    let mut kept = Vec::new();
    for uri in std::mem::take(&mut filter.uris) {
        if hub.watch(&uri).await {
            kept.push(uri);
        }
    }
    filter.uris = kept;
    filter
}

impl Hub {
    /// Asks the upstream of a resource to tell of its changes. False: it does not.
    async fn watch(self: &Arc<Self>, uri: &str) -> bool {
        let Some(conn) = routes::route(self, uri) else { return false };
        if routes::may_read(self, conn).await.is_err() {
            return false;
        }
        let conn = &self.conns[conn];
        let tells = self.catalogue().offers.iter().flatten().any(|offer| offer.hello.subscribe);
        tells
            && conn.upstream.watch(uri).await.unwrap_or(true)
            && (conn.upstream.is_new()
                || self.ask(conn, "resources/subscribe", raw(&json!({ "uri": uri }))).await.is_ok())
    }
}
