//! Sending a request once.

use crate::{
    Endpoint, Request, Response, Trust,
    connect::open,
    connection::{Broken, Connection},
    keeper::Keeper,
};
use rustls::ClientConfig;
use std::sync::Arc;

/// A client of one endpoint.
pub struct Client {
    endpoint: Endpoint,
    tls: Option<Arc<ClientConfig>>,
    keeper: Arc<Keeper>,
}

/// How a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Proved: no byte of it went out.
    #[error("no connection: {0}")]
    NotSent(String),
    /// It was called off before its first byte.
    #[error("it was called off")]
    CalledOff,
    /// Bytes of it went out, and no answer came.
    #[error("the exchange broke off: {0}")]
    Unknown(String),
}

impl Client {
    /// A client that has not connected yet.
    ///
    /// # Errors
    /// The endpoint wants TLS, and no authority is known that could vouch for it.
    pub fn new(endpoint: Endpoint, trust: &Trust) -> Result<Self, String> {
        let tls = endpoint.is_secure().then(|| trust.config()).transpose()?;
        Ok(Self { endpoint, tls, keeper: Arc::default() })
    }

    /// Where it sends to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and waits for the head of its answer. `begin` is asked once, when a connection stands and right before
    /// the first byte; false calls the request off.
    ///
    /// # Errors
    /// What is certain about the request that got no answer.
    pub async fn send(
        &self,
        request: &Request,
        begin: impl FnOnce() -> bool + Send,
    ) -> Result<Response, Failed> {
        let kept = self.keeper.take().await;
        let was_kept = kept.is_some();
        let connection = match kept {
            Some(connection) => connection,
            None => self.open().await?,
        };
        if !begin() {
            return Err(Failed::CalledOff);
        }
        match self.exchange(connection, request).await {
            // The server closed it in the meantime; the request has still not been sent.
            Err(Broken::Before(_)) if was_kept => {
                let connection = self.open().await?;
                self.exchange(connection, request).await.map_err(failed)
            }
            done => done.map_err(failed),
        }
    }

    /// After trouble servers close what they kept open: uses no connection again that was opened until now.
    pub fn forget(&self) {
        self.keeper.forget();
    }

    async fn open(&self) -> Result<Connection, Failed> {
        let generation = self.keeper.generation();
        let mut connection = open(&self.endpoint, self.tls.as_ref()).await.map_err(Failed::NotSent)?;
        connection.generation = generation;
        Ok(connection)
    }

    async fn exchange(&self, mut connection: Connection, request: &Request) -> Result<Response, Broken> {
        let answer = connection.send(request.outgoing(&self.endpoint.host)).await?;
        Ok(Response::new(answer, connection, Arc::clone(&self.keeper)))
    }
}

fn failed(broken: Broken) -> Failed {
    match broken {
        Broken::Before(why) => Failed::NotSent(why),
        Broken::After(why) => Failed::Unknown(why),
    }
}
