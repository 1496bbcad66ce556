//! The way to an HTTP upstream: puts on each request what the connection is given at that moment.

use crate::config::Credentials;
use http::{HeaderName, HeaderValue, StatusCode};
use mate_http::{Client, Endpoint, Failed, Request, Response};
use std::sync::Arc;

pub(crate) struct Door {
    client: Client,
    live: Option<Arc<dyn Credentials>>,
}

impl Door {
    pub(crate) fn new(client: Client, live: Option<Arc<dyn Credentials>>) -> Self {
        Self { client, live }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        self.client.endpoint()
    }

    pub(crate) fn forget(&self) {
        self.client.forget();
    }

    /// As [`Client::send`]. Without its credentials a request is not sent. One that is refused for them is not sent again
    /// either: the next one gets others.
    pub(crate) async fn send(
        &self,
        request: &Request,
        begin: impl FnOnce() -> bool + Send,
    ) -> Result<Response, Failed> {
        let Some(live) = &self.live else { return self.client.send(request, begin).await };
        let mut dressed = request.clone();
        for (name, value) in live.current().await.map_err(Failed::NotSent)? {
            let wrong = |_| Failed::NotSent(format!("the header {name} cannot be sent"));
            let header = HeaderName::try_from(&name).map_err(|_| wrong(()))?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong(()))?;
            value.set_sensitive(true);
            dressed = dressed.header(header, value);
        }
        let response = self.client.send(&dressed, begin).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            live.refused().await;
        }
        Ok(response)
    }
}
