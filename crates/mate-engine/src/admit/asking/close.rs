//! The end of a turn: what still waits is of no more use.

use crate::admit::Admission;

impl Admission {
    /// Withdraws what waits and forgets what nobody has heard of.
    pub(in crate::admit) async fn close_asks(&self) {
        self.withdraw_asks("the turn is over").await;
        self.asks.forget();
    }
}
