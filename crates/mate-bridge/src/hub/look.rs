//! A read for Agent Mate itself: whether a call has happened.

use super::{Hub, listing::Tool, lock};
use crate::core::{bounded, raw};
use mate_model::ConnectionId;
use serde_json::{Map, Value, json, value::RawValue};
use std::sync::Arc;

/// The largest answer that is looked at, in bytes.
const LARGEST: usize = 1 << 20;

impl Hub {
    pub(crate) async fn definition(
        self: &Arc<Self>,
        connection: ConnectionId,
        tool: &str,
    ) -> Result<Arc<RawValue>, String> {
        Ok(Arc::clone(&self.own_tool(self.place(connection)?, tool).await?.definition))
    }

    pub(crate) async fn look(
        self: &Arc<Self>,
        connection: ConnectionId,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Box<RawValue>, String> {
        let conn = self.place(connection)?;
        let known = self.own_tool(conn, tool).await?;
        if let Ok(schema) = known.schema() {
            let fits = schema.check(&Value::Object(arguments.clone()));
            fits.map_err(|why| format!("the arguments do not fit the tool: {why}"))?;
        }
        let params = raw(&json!({ "name": tool, "arguments": arguments }));
        let result = self.ask(&self.conns[conn], "tools/call", params).await;
        let result = result.map_err(|fault| bounded(fault.0.get()).to_owned())?;
        if result.get().len() > LARGEST {
            return Err("the answer is larger than 1 MiB".to_owned());
        }
        Ok(result)
    }

    pub(super) fn place(&self, connection: ConnectionId) -> Result<usize, String> {
        let place = self.conns.iter().position(|conn| conn.id == connection);
        place.ok_or_else(|| "the session's bridge does not have the connection".to_owned())
    }

    /// A tool by the upstream's own name; waits for the connection's list, within the limit for reads.
    async fn own_tool(self: &Arc<Self>, conn: usize, name: &str) -> Result<Arc<Tool>, String> {
        let mut listed = self.listed.subscribe();
        self.want(conn, false);
        let at = &self.conns[conn];
        let wait = async { while lock(&at.listing).is_awaited() && listed.changed().await.is_ok() {} };
        // Out of time, it is not there.
        let _ = tokio::time::timeout(self.limits.read.max(self.limits.start), wait).await;
        let offer = lock(&at.listing).offer.clone();
        let offer = offer.ok_or_else(|| format!("the connection {:?} could not be listed", at.name))?;
        let found = offer.tools.iter().find(|tool| tool.name == name).map(Arc::clone);
        found.ok_or_else(|| format!("the connection {:?} has no tool `{name}`", at.name))
    }
}
