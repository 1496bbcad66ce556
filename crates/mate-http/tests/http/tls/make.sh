#!/bin/sh
# Made the files beside it, once: an authority for tests, a server's certificate by it for localhost and 127.0.0.1, and
# an authority that vouched for nobody. Nothing outside of tests trusts them.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/$1.key" -out "$1.pem" \
        -days 36500 -subj "/CN=Agent Mate test authority" -addext basicConstraints=critical,CA:TRUE
}
authority authority
authority stranger
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out "$work/server.csr" \
    -subj "/CN=localhost"
printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n' >"$work/ext"
openssl x509 -req -in "$work/server.csr" -CA authority.pem -CAkey "$work/authority.key" -CAcreateserial \
    -CAserial "$work/serial" -days 36500 -extfile "$work/ext" -out server.pem
