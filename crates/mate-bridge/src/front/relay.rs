//! `agent-mate bridge`: carries bytes between the standard streams and the worker's socket, nothing else.

use std::{path::Path, process::ExitCode, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
};

const CONNECT: Duration = Duration::from_secs(10);
const CHUNK: usize = 64 * 1024;

/// Connects to the worker's socket and pumps until either side ends.
///
/// Standard output carries protocol only; what goes wrong is said on standard error. The caller should end
/// the process with the given code at once: a blocked read of standard input would keep it alive.
pub async fn relay_main(socket: &Path) -> ExitCode {
    let connected = tokio::time::timeout(CONNECT, UnixStream::connect(socket)).await;
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            return fail(&format!("the session's socket {} cannot be opened: {error}", socket.display()));
        }
        Err(_) => {
            return fail(&format!("the session's socket {} did not answer within 10 s", socket.display()));
        }
    };
    match pump(stream, tokio::io::stdin(), tokio::io::stdout()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("agent-mate bridge: {why}. Is the session still running? (agent-mate task list)");
    ExitCode::FAILURE
}

/// Copies both ways with one buffer each. When the runtime's side ends, the answers under way are still written.
pub(crate) async fn pump<I, O>(stream: UnixStream, input: I, output: O) -> Result<(), String>
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let (mut from, mut to) = stream.into_split();
    let mut up = Box::pin(copy(input, &mut to));
    let mut down = Box::pin(copy_all(&mut from, output));
    tokio::select! {
        ended = &mut down => return match ended {
            Ok(()) => Err("the session closed the connection".into()),
            Err(error) => Err(format!("the connection broke: {error}")),
        },
        ended = &mut up => {
            if let Err(error) = ended {
                return Err(format!("the connection broke: {error}"));
            }
        }
    }
    drop(up);
    to.shutdown().await.ok();
    tokio::time::timeout(Duration::from_secs(2), down).await.ok();
    Ok(())
}

async fn copy<I: AsyncRead + Unpin, O: AsyncWrite + Unpin>(mut from: I, to: &mut O) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(()),
            n => {
                to.write_all(&buffer[..n]).await?;
                to.flush().await?;
            }
        }
    }
}

async fn copy_all<I: AsyncRead + Unpin, O: AsyncWrite + Unpin>(
    from: &mut I,
    mut to: O,
) -> std::io::Result<()> {
    copy(from, &mut to).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncBufReadExt, BufReader};

    #[tokio::test]
    async fn bytes_pass_both_ways_and_each_end_is_noticed() {
        let (socket, worker) = UnixStream::pair().unwrap();
        let (input, mut runtime_in) = tokio::io::duplex(1 << 16);
        let (output, runtime_out) = tokio::io::duplex(1 << 16);
        let pumped = tokio::spawn(pump(socket, input, output));
        runtime_in.write_all(b"ask\n").await.unwrap();
        let (from, mut to) = worker.into_split();
        let mut from = BufReader::new(from).lines();
        assert_eq!(from.next_line().await.unwrap().as_deref(), Some("ask"));
        drop(runtime_in);
        assert_eq!(from.next_line().await.unwrap(), None, "the end of input reaches the worker");
        to.write_all(b"late answer\n").await.unwrap();
        drop(to);
        let mut out = BufReader::new(runtime_out).lines();
        assert_eq!(out.next_line().await.unwrap().as_deref(), Some("late answer"));
        assert_eq!(pumped.await.unwrap(), Ok(()));

        let (socket, worker) = UnixStream::pair().unwrap();
        let (input, _open) = tokio::io::duplex(1 << 16);
        drop(worker);
        assert!(pump(socket, input, tokio::io::sink()).await.unwrap_err().contains("closed"));
    }
}
