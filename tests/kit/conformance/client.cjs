// The client that the suite tests: Agent Mate in a home of its own, its connection to the suite's server, and a runtime
// that uses what the server offers.
//
//   node client.cjs AGENT_MATE FOLDER URL     the suite adds URL, and says in MCP_CONFORMANCE_* which scenario it is
'use strict';
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { createInterface } = require('node:readline');

const [program, folder, server] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2026-07-28';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const stateless = revision >= '2026';
// How often a person says yes again when the server wants more.
const AGAIN = 3;

// Nothing waits for what a person would want time for.
const SETTINGS = '[session]\nlist_seconds = 0\nsettle_seconds = 5\nidle_seconds = 0\n[stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n';

const home = fs.mkdtempSync(path.join(folder, 'c-'));
const env = { ...process.env, AGENT_MATE_HOME: path.join(home, 'h'), SECRET: context.client_secret ?? '' };
const say = (...words) => console.error(...words);

function mate(...words) {
    const done = spawnSync(program, ['--json', ...words], { env, encoding: 'utf8' });
    let told = {};
    try { told = JSON.parse(done.stdout); } catch { /* not every command prints one */ }
    say(words.join(' '), '->', done.status, done.stdout.slice(0, 600), done.stderr.slice(0, 600));
    return { code: done.status, told };
}

async function lineOf(stream, wanted) {
    for await (const line of createInterface({ input: stream })) if (wanted(line)) return line;
    return undefined;
}

// A person who opens the address and says yes at once: the suite's authorisation server asks nothing.
async function authorize(scope) {
    const words = ['--json', 'connection', 'authorize', 'suite'];
    if (context.client_id) words.push('--client-id', context.client_id);
    else if (scenario.includes('cimd')) words.push('--client-id', 'https://conformance-test.local/client-metadata.json');
    if (context.client_secret) words.push('--client-secret', 'SECRET');
    if (scope) words.push('--scope', scope);
    const asking = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    asking.stdout.on('data', data => say('authorize:', String(data)));
    const ended = new Promise(resolve => asking.on('exit', resolve));
    const url = await Promise.race([lineOf(asking.stderr, line => line.startsWith('http')), ended.then(() => undefined)]);
    if (url) await fetch(url).then(answer => answer.text()).catch(error => say('person:', error.message));
    const code = await ended;
    say('authorize ->', code);
    return code === 0;
}

async function authorized() {
    for (let asked = 0; asked <= AGAIN; asked++) {
        const { code, told } = mate('connection', 'check', 'suite');
        if (code === 0) return true;
        if (!['needs_authorization', 'authorization_lost', 'insufficient_scope', 'token_refused'].includes(told.code)) return false;
        if (!await authorize(told.scope)) return false;
    }
    return false;
}

// The session's endpoint, told by a runtime that only holds its turn.
function held() {
    return new Promise(resolve => {
        let task;
        const door = net.createServer(runtime => {
            const lines = createInterface({ input: runtime });
            lines.once('line', line => lines.once('line', () => resolve({ ...JSON.parse(line), task })));
        });
        door.listen(path.join(home, 'door'));
        mate('runtime', 'add', 'held', '--', program, 'bench-runtime', path.join(home, 'door'));
        mate('grant', 'add', '--project', 'default', '--connection', 'suite', '--tools', '*');
        task = mate('task', 'add', '--project', 'default', '--runtime', 'held', '--approve', 'hold').told.id;
    });
}

class Runtime {
    constructor({ url, bearer }) { Object.assign(this, { url, bearer, id: 0 }); }

    async post(message, extra = {}) {
        const headers = { authorization: `Bearer ${this.bearer}`, 'content-type': 'application/json',
            accept: 'application/json, text/event-stream', 'mcp-protocol-version': revision, ...extra };
        if (this.session) headers['mcp-session-id'] = this.session;
        if (stateless && message.method) headers['mcp-method'] = message.method;
        const answer = await fetch(this.url, { method: 'POST', headers, body: JSON.stringify(message) });
        this.session ??= answer.headers.get('mcp-session-id') ?? undefined;
        return answer;
    }

    async ask(method, params = {}, extra = {}) {
        const id = ++this.id;
        if (stateless) {
            params = { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': revision,
                'io.modelcontextprotocol/clientInfo': { name: 'conformance', version: '1' },
                'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {}, roots: {} } } };
        }
        const answer = await this.post({ jsonrpc: '2.0', id, method, params }, extra);
        let rest = '';
        const take = async message => {
            if (message.id === id && !message.method) return message;
            // Questions are answered with what they say is usual.
            if (message.method === 'elicitation/create') await this.post({ jsonrpc: '2.0', id: message.id, result: usual(message.params) });
            else if (message.method && message.id !== undefined) await this.post({ jsonrpc: '2.0', id: message.id, result: {} });
            return undefined;
        };
        const text = new TextDecoder();
        for await (const part of answer.body) {
            rest += text.decode(part, { stream: true });
            if (!(answer.headers.get('content-type') ?? '').includes('event-stream')) continue;
            for (let end; (end = rest.indexOf('\n')) >= 0; rest = rest.slice(end + 1)) {
                const line = rest.slice(0, end);
                const told = line.startsWith('data:') && line.length > 6 ? await take(JSON.parse(line.slice(5))) : undefined;
                if (told) return told;
            }
        }
        try { return JSON.parse(rest); } catch { return { error: { message: `${answer.status} ${rest}` } }; }
    }

    async begin() {
        if (stateless) return;
        await this.ask('initialize', { protocolVersion: revision, capabilities: { elicitation: {} }, clientInfo: { name: 'conformance', version: '1' } });
        await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    }

    async call(name, given, tool) {
        const extra = stateless ? { 'mcp-name': name, ...mirrored(tool, given) } : {};
        let params = { name, arguments: given };
        for (let round = 0; round < 4; round++) {
            const told = await this.ask('tools/call', params, extra);
            say('call', name, JSON.stringify(told).slice(0, 400));
            if (told.result?.resultType !== 'input_required') return;
            const answers = Object.entries(told.result.inputRequests ?? {})
                .map(([key, question]) => [key, question.method === 'elicitation/create' ? usual(question.params) : {}]);
            params = { name, arguments: given, inputResponses: Object.fromEntries(answers) };
            if (told.result.requestState !== undefined) params.requestState = told.result.requestState;
        }
    }
}

function usual({ requestedSchema }) {
    const content = {};
    for (const [name, field] of Object.entries(requestedSchema?.properties ?? {})) {
        content[name] = field.default ?? { boolean: true, integer: 1, number: 1 }[field.type] ?? field.enum?.[0] ?? 'yes';
    }
    return { action: 'accept', content };
}

// What a runtime's own SDK would mirror into headers towards the bridge (which makes its own towards the server).
function mirrored(tool, given) {
    const headers = {};
    for (const [name, field] of Object.entries(tool?.inputSchema?.properties ?? {})) {
        const value = given[name];
        if (!field?.['x-mcp-header'] || value === undefined || value === null) continue;
        const text = String(value);
        const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
        headers[`mcp-param-${field['x-mcp-header']}`] = plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
    }
    return headers;
}

function made(schema) {
    const kinds = { integer: 3, number: 5, boolean: true, array: [], object: {} };
    return Object.fromEntries((schema?.required ?? []).map(name => [name, kinds[schema.properties?.[name]?.type] ?? 'text']));
}

async function main() {
    execFileSync(program, ['init'], { env, stdio: 'ignore' });
    fs.writeFileSync(path.join(env.AGENT_MATE_HOME, 'config.toml'), SETTINGS);
    const serve = spawn(program, ['--json', 'serve', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let inside;
    try {
        const ready = JSON.parse(await lineOf(serve.stdout, line => line.startsWith('{')));
        env.AGENT_MATE_URL = ready.url;
        mate('connection', 'add', 'suite', '--url', server, '--bare');
        if (!await authorized()) return;
        inside = await held();
        const runtime = new Runtime(inside);
        await runtime.begin();
        let tools = [];
        for (let tries = 0; tries < 50 && !tools.length; tries++) {
            tools = ((await runtime.ask('tools/list')).result?.tools ?? []).filter(tool => tool.name !== 'agent_mate__report');
            if (!tools.length) await new Promise(resolve => setTimeout(resolve, 100));
        }
        say('tools', tools.map(tool => tool.name).join(' '));
        const calls = context.toolCalls ?? tools.map(tool => ({ name: tool.name, arguments: made(tool.inputSchema) }));
        for (const wanted of calls) await runtime.call(wanted.name, wanted.arguments, tools.find(tool => tool.name === wanted.name));
        if (scenario.startsWith('auth/') && !mate('connection', 'check', 'suite').told.state?.startsWith('well') && await authorized()) {
            for (const wanted of calls) await runtime.call(wanted.name, wanted.arguments);
        }
        if (stateless && scenario === 'http-standard-headers') {
            for (const [list, one, key] of [['resources', 'resources/read', 'uri'], ['prompts', 'prompts/get', 'name']]) {
                const first = (await runtime.ask(`${list}/list`)).result?.[list]?.[0];
                if (first) say(one, JSON.stringify(await runtime.ask(one, { [key]: first[key] }, { 'mcp-name': first[key] })).slice(0, 200));
            }
        }
    } finally {
        if (inside) mate('task', 'kill', inside.task);
        serve.kill('SIGTERM');
        await new Promise(resolve => serve.on('exit', resolve));
    }
}

main().then(() => process.exit(0), error => { say(error.stack); process.exit(0); });
