#!/usr/bin/env bash
# install.sh [NAME...]: real agent runtimes, MCP servers and an authorisation server, pinned, from npm and PyPI, into
# $ACP_AGENTS (default: .cache/agents of the project). What is already there in the pinned version is left as it is. No
# install script of an npm package is run.
set -euo pipefail
cd "$(dirname "$0")/../../.."
agents=${ACP_AGENTS:-$PWD/.cache/agents}

package() {
    case $1 in
        node22)     echo "node-linux-$(node -p process.arch)@22.23.5" ;; # Claude's adapter wants Node 22
        everything) echo '@modelcontextprotocol/server-everything@2026.8.31' ;;
        filesystem) echo '@modelcontextprotocol/server-filesystem@2026.8.31' ;;
        memory)     echo '@modelcontextprotocol/server-memory@2026.8.31' ;;
        oidc)       echo 'oidc-provider@9.13.3' ;;
        git)        echo 'pypi:mcp-server-git==2026.10.19' ;;
        opencode)   echo 'opencode-ai@1.18.33' ;;
        claude)     echo '@agentclientprotocol/claude-agent-acp@0.101.0' ;;
        codex)      echo '@agentclientprotocol/codex-acp@2.6.0' ;;
        # The conformance suite of MCP, and the SDK in which the server before it is written.
        conformance) echo '@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/node@2.1.2 zod@4.6.7' ;;
        # What drives Chromium through the dashboard, and looks for what bars people out.
        browser)    echo 'playwright-core@1.65.1 axe-core@4.14.1' ;;
        # What makes requests up for the interface, by its description.
        schemathesis) echo 'pypi:schemathesis==4.32.5' ;;
        *) echo "no runtime is called $1" >&2; return 1 ;;
    esac
}

# A folder gets its stamp last: one without it was interrupted and is installed again.
install() {
    local name=$1 spec=$2 dir=$agents/$1 try
    [[ -f $dir/stamp && $(<"$dir/stamp") == "$spec" ]] && return 0
    echo "to be installed: $spec"
    for try in 1 2 3; do
        rm -rf -- "$dir"
        mkdir -p "$dir"
        if fetch "$dir" "$spec"; then
            echo "$spec" >"$dir/stamp"
            return 0
        fi
        sleep "$try"
    done
    echo "$spec could not be installed" >&2
    return 1
}

fetch() (
    cd "$1"
    if [[ $2 == pypi:* ]]; then
        python3 -m venv . && timeout 600 bin/python3 -m pip install --quiet --disable-pip-version-check "${2#pypi:}"
    else
        local packages
        read -ra packages <<<"$2"
        timeout 600 npm install --no-audit --no-fund --ignore-scripts --loglevel error --prefix . "${packages[@]}"
    fi
)

for name in "${@:-opencode}"; do
    spec=$(package "$name")
    install "$name" "$spec"
done
