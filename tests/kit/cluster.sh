# Sourced by ./test: one throw-away PostgreSQL cluster for the whole run, on loopback, named in AGENT_MATE_TEST_POSTGRES.

CLUSTER_DIR=
CLUSTER_PID=

# initdb refuses root, so root runs the cluster as somebody else. The server goes when this script goes, however it ends.
AS_POSTGRES=()
choose_user() {
    local user=postgres
    if [[ $(id -u) == 0 ]]; then
        id -u "$user" >/dev/null 2>&1 || user=nobody
        AS_POSTGRES=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups)
    fi
    # A change of user clears the parent-death signal, so it is asked for afterwards.
    AS_POSTGRES+=(setpriv --pdeathsig QUIT)
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Starts the server on one port; fails when the port was taken meanwhile.
cluster_try() {
    local programs=$1 port=$2 tries
    "${AS_POSTGRES[@]}" "$programs/postgres" -D "$CLUSTER_DIR/data" -p "$port" -k "$CLUSTER_DIR" -c listen_addresses=127.0.0.1 \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 -c shared_buffers=64MB \
        >"$CLUSTER_DIR/log" 2>&1 &
    CLUSTER_PID=$!
    for ((tries = 0; tries < 300; tries++)); do
        kill -0 "$CLUSTER_PID" 2>/dev/null || return 1
        "$programs/pg_isready" -q -h 127.0.0.1 -p "$port" && return 0
        sleep 0.1
    done
    return 1
}

cluster_start() {
    local programs port
    choose_user
    programs=$(postgres_programs) || { echo "PostgreSQL's server programs are not installed" >&2; return 1; }
    CLUSTER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/mate-postgres.XXXXXX") || return 1
    if [[ $(id -u) == 0 ]]; then
        chmod 755 "$CLUSTER_DIR"
        chown "$("${AS_POSTGRES[@]}" id -u)" "$CLUSTER_DIR"
    fi
    (cd / && "${AS_POSTGRES[@]}" "$programs/initdb" -D "$CLUSTER_DIR/data" -U mate -A trust -E UTF8 --locale=C.UTF-8 -N >"$CLUSTER_DIR/initdb" 2>&1) ||
        { cat "$CLUSTER_DIR/initdb" >&2; return 1; }
    for _ in 1 2 3; do
        port=$(free_port)
        if cluster_try "$programs" "$port"; then
            export AGENT_MATE_TEST_POSTGRES="postgresql://mate@127.0.0.1:$port/postgres"
            return 0
        fi
        cluster_end_server
    done
    cat "$CLUSTER_DIR/log" >&2
    return 1
}

# Only ever signals the process that was started here: it is our child until it is waited for.
cluster_end_server() {
    [[ -n $CLUSTER_PID ]] || return 0
    kill -QUIT "$CLUSTER_PID" 2>/dev/null || true
    wait "$CLUSTER_PID" 2>/dev/null || true
    CLUSTER_PID=
}

cluster_stop() {
    cluster_end_server
    [[ -z $CLUSTER_DIR ]] || rm -rf -- "$CLUSTER_DIR"
}
