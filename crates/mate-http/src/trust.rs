//! Whose certificates are believed.

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where distributions keep the certificates of the authorities that the machine trusts.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Which authorities may vouch for a server.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those of the machine; or, if set, those in the file `SSL_CERT_FILE` and in the files of the folder `SSL_CERT_DIR`.
    Machine,
    /// Those in this PEM file only.
    File(PathBuf),
}

impl Trust {
    fn files(&self) -> Vec<PathBuf> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        match self {
            Self::File(file) => vec![file.clone()],
            Self::Machine => {
                let (file, folder) = (set("SSL_CERT_FILE"), set("SSL_CERT_DIR"));
                if file.is_none() && folder.is_none() {
                    return BUNDLES
                        .iter()
                        .map(PathBuf::from)
                        .find(|path| path.exists())
                        .into_iter()
                        .collect();
                }
                let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
                let inside = entries.into_iter().flatten().flatten().map(|entry| entry.path());
                file.into_iter().chain(inside.filter(|path| path.is_file())).collect()
            }
        }
    }

    /// The settings of a TLS client.
    ///
    /// # Errors
    /// No authority could be read, and where one is looked for.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        let files = self.files();
        for file in &files {
            roots.add_parsable_certificates(certificates(file));
        }
        if roots.is_empty() {
            return Err(match files.first() {
                Some(file) => format!("no certificate of an authority can be read from {}", file.display()),
                None => "this machine trusts no certificate authority: install ca-certificates, or set SSL_CERT_FILE".into(),
            });
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| format!("TLS cannot be set up: {e}"))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The certificates in a PEM file that can be read.
fn certificates(file: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(file).map(|found| found.flatten().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named() {
        let why = Trust::File("/nowhere/ca.pem".into()).config().unwrap_err();
        assert!(why.contains("/nowhere/ca.pem"), "{why}");
    }
}
