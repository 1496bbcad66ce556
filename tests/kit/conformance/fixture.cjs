// An MCP server for the conformance suite: what its scenarios call, by the names that they use, in both protocol eras.
//
//   MODULES=<folder with node_modules> node fixture.cjs      prints {"url": ...} and serves until its standard input ends
//   ERA=old|new                                               only that era (default: both)
'use strict';
const { createServer } = require('node:http');
const { randomUUID } = require('node:crypto');
const { createRequire } = require('node:module');
const load = createRequire(`${process.env.MODULES}/`);
const sdk = load('@modelcontextprotocol/server');
const { NodeStreamableHTTPServerTransport, toNodeHandler, localhostHostValidation, localhostOriginValidation } =
    load('@modelcontextprotocol/node');
const z = load('zod');
const tasks = require('./tasks.cjs');

const { McpServer, ResourceTemplate, inputRequired, acceptedContent, completable } = sdk;
const ERA = process.env.ERA ?? 'both';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const say = text => ({ content: [{ type: 'text', text }] });
const inline = (uri, mimeType, text) => ({ type: 'resource', resource: { uri, mimeType, text } });
const codec = sdk.createRequestStateCodec({ key: Buffer.from(randomUUID().repeat(2)) });
const text = (...names) => ({
    type: 'object', properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])), required: names,
});
const yes = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
const ask = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
const complete = question => inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens: 100,
});

const defaults = {
    type: 'object',
    properties: {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
    },
};
const three = (word, title) => ['First', 'Second', 'Third'].map((nth, i) => ({ const: `${word}${i + 1}`, title: `${nth} ${title}` }));
const options = ['option1', 'option2', 'option3'];
const enums = {
    type: 'object',
    properties: {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: three('value', 'Option') },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: three('value', 'Choice') } },
    },
};

function contents(server, isNew) {
    const tool = (name, run, inputSchema) => server.registerTool(name, { description: name, inputSchema }, inputSchema ? run : ctx => run({}, ctx));
    tool('test_simple_text', () => say('This is a simple text response for testing.'));
    tool('test_image_content', () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }));
    tool('test_audio_content', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }));
    tool('test_embedded_resource', () => ({ content: [inline('test://embedded-resource', 'text/plain', 'An embedded text.')] }));
    tool('test_multiple_content_types', () => ({
        content: [
            { type: 'text', text: 'Several kinds of content:' },
            { type: 'image', data: PNG, mimeType: 'image/png' },
            inline('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
        ],
    }));
    tool('test_error_handling', () => { throw new Error('This tool intentionally returns an error for testing'); });
    const log = async (ctx, data) => ctx.mcpReq.log('info', data);
    tool('test_tool_with_logging', async (_, ctx) => {
        for (const step of ['started', 'processing data', 'completed']) {
            await log(ctx, `Tool execution ${step}`);
            await pause(50);
        }
        return say('logged');
    });
    tool('test_logging_tool', async (_, ctx) => {
        await log(ctx, 'only for those who asked');
        return say('done');
    });
    tool('test_tool_with_progress', async (_, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (const progress of [0, 50, 100]) {
            if (progressToken !== undefined) {
                await ctx.mcpReq.notify({
                    method: 'notifications/progress', params: { progressToken, progress, total: 100, message: `${progress} of 100` },
                });
            }
            await pause(50);
        }
        return say('progressed');
    });
    tool('test_reconnection', async (_, ctx) => {
        ctx.http?.closeSSE?.();
        await pause(300);
        return say('the stream was closed, and the answer is here');
    });
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    tool('test_custom_header', args => say(`in ${args.region}`), sdk.fromJsonSchema({ type: 'object', properties: { region }, required: ['region'] }));
    questions(tool);
    rounds(tool, server);
    tool('json_schema_2020_12_tool', args => say(JSON.stringify(args)), sdk.fromJsonSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
            address: {
                $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } },
            },
        },
        properties: {
            name: { type: 'string' }, address: { $ref: '#/$defs/address' },
            contactMethod: { type: 'string', enum: ['phone', 'email'] }, phone: { type: 'string' }, email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
    }));
    resources(server);
    prompts(server);
    if (isNew) tasks.add(server, tool, { sdk, z, say, ask, text, inputRequired, acceptedContent });
}

// Asked while the call goes on in the old era, as a round of its own in the new one.
function questions(tool) {
    const input = name => sdk.fromJsonSchema(text(name));
    const once = (key, request, tell) => async (args, ctx) => {
        const answer = ctx.mcpReq.inputResponses?.[key];
        if (answer === undefined) return inputRequired({ inputRequests: { [key]: request(args) } });
        return say(tell(answer));
    };
    const told = answer => `User response: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
    tool('test_sampling', once('model', args => complete(args.prompt), answer => `LLM response: ${answer.content?.text}`), input('prompt'));
    tool('test_elicitation', once('user', args => ask(args.message, text('username', 'email')), told), input('message'));
    tool('test_elicitation_sep1034_defaults', once('user', () => ask('Please check the values', defaults), told));
    tool('test_elicitation_sep1330_enums', once('user', () => ask('Please choose', enums), told));
}

function rounds(tool, server) {
    const name = 'test_input_required_result_';
    const can = ctx => ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
    tool(`${name}elicitation`, (_, ctx) => {
        const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_name');
        if (typeof given?.name !== 'string') return inputRequired({ inputRequests: { user_name: ask('What is your name?', text('name')) } });
        return say(`Hello, ${given.name}!`);
    });
    tool('test_streaming_elicitation', (_, ctx) => {
        const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_name');
        return given ? say('done') : inputRequired({ inputRequests: { user_name: ask('What is your name?', text('name')) } });
    });
    tool(`${name}sampling`, (_, ctx) => {
        const given = ctx.mcpReq.inputResponses?.capital_question;
        return given ? say(given.content?.text ?? '') : inputRequired({ inputRequests: { capital_question: complete('What is the capital of France?') } });
    });
    tool(`${name}list_roots`, (_, ctx) => {
        const given = ctx.mcpReq.inputResponses?.client_roots;
        return given ? say(JSON.stringify(given.roots)) : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    });
    const sealed = async (ctx, requests, state, end) => {
        const given = ctx.mcpReq.inputResponses;
        const held = ctx.mcpReq.requestState();
        if (held === undefined || !Object.keys(requests).every(key => given?.[key])) {
            return inputRequired({ inputRequests: requests, requestState: await codec.mint(state) });
        }
        return say(end);
    };
    const confirm = () => ({ confirm: ask('Please confirm', yes) });
    tool(`${name}request_state`, (_, ctx) => sealed(ctx, confirm(), { of: 'state' }, 'state-ok'));
    tool(`${name}tampered_state`, (_, ctx) => sealed(ctx, confirm(), { of: 'tampered' }, 'state-ok'));
    tool(`${name}multiple_inputs`, (_, ctx) => sealed(ctx, {
        user_name: ask('What is your name?', text('name')), greeting: complete('Generate a greeting'), client_roots: inputRequired.listRoots(),
    }, { of: 'several' }, 'all there'));
    tool(`${name}multi_round`, async (_, ctx) => {
        const held = ctx.mcpReq.requestState();
        const step = held?.step ?? 0;
        const keys = ['name', 'color'];
        const answered = ctx.mcpReq.inputResponses?.[`step${step}`];
        if (step === 2 && answered) return say('two steps done');
        const next = answered ? step + 1 : Math.max(step, 1);
        const requestState = await codec.mint({ step: next, nonce: randomUUID() });
        return inputRequired({ inputRequests: { [`step${next}`]: ask(`Step ${next}`, text(keys[next - 1])) }, requestState });
    });
    tool(`${name}capabilities`, (_, ctx) => {
        if (ctx.mcpReq.inputResponses) return say('done');
        const requests = {};
        if (can(ctx).elicitation) requests.user_name = ask('What is your name?', text('name'));
        if (can(ctx).sampling) requests.greeting = complete('Generate a greeting');
        return inputRequired({ inputRequests: requests, requestState: 'none' });
    });
    tool('test_missing_capability', (_, ctx) =>
        ctx.mcpReq.inputResponses ? say('done') : inputRequired({ inputRequests: { model: complete('anything') } }));
    tool('test_trigger_tool_change', () => {
        notify.toolsChanged();
        if (sessions.size) server.sendToolListChanged();
        return say('changed');
    });
    tool('test_trigger_prompt_change', () => {
        notify.promptsChanged();
        if (sessions.size) server.sendPromptListChanged();
        return say('changed');
    });
}

function resources(server) {
    const one = (uri, mimeType, body) => ({ contents: [{ uri, mimeType, ...body }] });
    server.registerResource('static-text', 'test://static-text', { mimeType: 'text/plain' },
        () => one('test://static-text', 'text/plain', { text: 'This is the content of the static text resource.' }));
    server.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' },
        () => one('test://static-binary', 'image/png', { blob: PNG }));
    server.registerResource('watched', 'test://watched-resource', { mimeType: 'text/plain' },
        () => one('test://watched-resource', 'text/plain', { text: 'Watched.' }));
    server.registerResource('template', new ResourceTemplate('test://template/{id}/data', { list: undefined }), { mimeType: 'application/json' },
        (uri, { id }) => one(uri.href, 'application/json', { text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }));
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) server.server.setRequestHandler(method, () => ({}));
}

function prompts(server) {
    const user = content => ({ role: 'user', content });
    const words = text => user({ type: 'text', text });
    const prompt = (name, argsSchema, make) => server.registerPrompt(name, { description: name, argsSchema }, argsSchema ? make : ctx => make({}, ctx));
    prompt('test_simple_prompt', undefined, () => ({ messages: [words('This is a simple prompt for testing.')] }));
    const city = completable(z.string(), value => ['paris', 'park', 'party'].filter(word => word.startsWith(value)));
    prompt('test_prompt_with_arguments', z.object({ arg1: city, arg2: z.string() }),
        ({ arg1, arg2 }) => ({ messages: [words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }));
    prompt('test_prompt_with_embedded_resource', z.object({ resourceUri: z.string() }), ({ resourceUri }) => ({
        messages: [user(inline(resourceUri, 'text/plain', 'Embedded resource content for testing.')), words('Please use the resource above.')],
    }));
    prompt('test_prompt_with_image', undefined, () => ({
        messages: [user({ type: 'image', data: PNG, mimeType: 'image/png' }), words('Please look at the image above.')],
    }));
    prompt('test_input_required_result_prompt', undefined, (_, ctx) => {
        const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_context');
        if (!given) return inputRequired({ inputRequests: { user_context: ask('Which context?', text('context')) } });
        return { messages: [words(`With ${given.context}`)] };
    });
}

function make(isNew) {
    const server = new McpServer(
        { name: 'conformance-fixture', version: '1' },
        {
            capabilities: {
                tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true },
                logging: {}, completions: {}, ...(isNew && { extensions: tasks.extension }),
            },
            requestState: { verify: codec.verify },
        },
    );
    contents(server, isNew);
    return server;
}

let notify = { toolsChanged() {}, promptsChanged() {} };
const sessions = new Map();

/** What a client of the old era can ask for again when its stream broke off. */
class Events {
    streams = new Map();

    async storeEvent(stream, message) {
        const events = this.streams.get(stream) ?? [];
        this.streams.set(stream, events);
        events.push(message);
        return `${stream}/${events.length}`;
    }

    async getStreamIdForEventId(id) {
        return this.streams.has(id.split('/')[0]) ? id.split('/')[0] : undefined;
    }

    async replayEventsAfter(last, { send }) {
        const [stream, seen] = last.split('/');
        const events = this.streams.get(stream) ?? [];
        for (let at = Number(seen); at < events.length; at++) if (events[at].jsonrpc) await send(`${stream}/${at + 1}`, events[at]);
        return stream;
    }
}

async function old(request, response) {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (!transport) {
        if (id !== undefined) return void response.writeHead(404).end();
        transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID, eventStore: new Events(), retryInterval: 100, onsessioninitialized: made => { sessions.set(made, transport); },
        });
        transport.onclose = () => sessions.delete(transport.sessionId);
        await make(false).connect(transport);
    }
    await transport.handleRequest(request, response);
}

const modern = sdk.createMcpHandler(() => make(true), { legacy: 'reject' });
notify = modern.notify;
const modernNode = toNodeHandler(modern);
const hostOk = localhostHostValidation();
const originOk = localhostOriginValidation();

// The era is told by the headers alone: each era's clients send their own.
function isNew(request) {
    if (ERA !== 'both') return ERA === 'new';
    const version = request.headers['mcp-protocol-version'];
    return !/^202[45]-/.test(version ?? '') && (version !== undefined || 'mcp-method' in request.headers);
}

const server = createServer((request, response) => {
    if (!hostOk(request, response) || !originOk(request, response)) return;
    Promise.resolve(isNew(request) ? modernNode(request, response) : old(request, response)).catch(error => {
        console.error(error);
        if (!response.headersSent) response.writeHead(500);
        response.end();
    });
});
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/mcp` }));
});
process.stdin.on('end', () => process.exit(0)).resume();
