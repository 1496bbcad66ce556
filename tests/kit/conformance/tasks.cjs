// The tasks extension of 2026-07-28 for the fixture, written by hand: its SDK has none.
//
//   add(server, tool, parts)    registers the tools that become tasks, and the methods of the extension
'use strict';
const { randomUUID } = require('node:crypto');

const TASKS = 'io.modelcontextprotocol/tasks';
const CAN = 'io.modelcontextprotocol/clientCapabilities';
const OVER = ['completed', 'failed', 'cancelled'];
const TTL = 10 * 60 * 1000;
const tasks = new Map();

/** One task: what its record says, and what wakes its work up. */
class Task {
    constructor(run) {
        this.id = randomUUID();
        this.createdAt = this.changedAt = new Date().toISOString();
        this.status = 'working';
        this.more = {};
        this.pending = new Map();
        this.ended = new AbortController();
        tasks.set(this.id, this);
        run(this).then(result => this.to('completed', { result }), error => this.to('failed', { error: { code: -32603, message: error.message } }));
    }

    to(status, more = {}) {
        if (OVER.includes(this.status)) return;
        Object.assign(this, { status, more, changedAt: new Date().toISOString() });
        if (OVER.includes(status)) this.ended.abort();
    }

    sleep(ms) {
        return new Promise(resolve => {
            const timer = setTimeout(resolve, ms);
            this.ended.signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
        });
    }

    /** Asks, all at once; resolves with the answers when the last of them is there. */
    ask(requests) {
        return new Promise(resolve => {
            const answers = {};
            for (const key of Object.keys(requests)) {
                this.pending.set(key, answer => {
                    answers[key] = answer;
                    this.pending.delete(key);
                    delete this.more.inputRequests[key];
                    if (this.pending.size > 0) return;
                    this.to('working');
                    resolve(answers);
                });
            }
            this.to('input_required', { inputRequests: { ...requests } });
        });
    }

    envelope() {
        return {
            taskId: this.id, status: this.status, createdAt: this.createdAt, lastUpdatedAt: this.changedAt, ttlMs: TTL, pollIntervalMs: 50,
        };
    }

    created() {
        return { resultType: 'task', ...this.envelope() };
    }

    record() {
        return { resultType: 'complete', ...this.envelope(), ...this.more };
    }
}

const follows = ctx => ctx.mcpReq.envelope?.[CAN]?.extensions?.[TASKS] !== undefined;

function add(server, tool, { sdk, z, say, ask, text, inputRequired, acceptedContent }) {
    const schema = properties => sdk.fromJsonSchema({ type: 'object', properties });
    const missing = () => new sdk.ProtocolError(-32021, `the client must declare ${TASKS}`, { requiredCapabilities: { extensions: { [TASKS]: {} } } });
    const needed = new Set(['failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input', 'test_tool_with_task']);
    const confirm = filename => ask(`Delete ${filename}?`, { type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] });

    tool('greet', ({ name }) => say(`Hello, ${name}!`), schema({ name: { type: 'string' } }));
    tool('slow_compute', async ({ seconds = 0, label }, ctx) => {
        const end = say(`computed ${label} for ${seconds} s`);
        if (seconds > 0 && follows(ctx)) return new Task(task => task.sleep(seconds * 1000).then(() => end)).created();
        await new Promise(resolve => setTimeout(resolve, seconds * 1000));
        return end;
    }, schema({ seconds: { type: 'number' }, label: { type: 'string' } }));
    tool('failing_job', () => new Task(async task => {
        await task.sleep(1000);
        return { ...say('the job failed'), isError: true };
    }).created());
    tool('protocol_error_job', () => new Task(async () => { throw new Error('the job broke down'); }).created());
    tool('confirm_delete', ({ filename }) => new Task(async task => {
        const { confirm: answer } = await task.ask({ confirm: confirm(filename) });
        return say(answer.content?.confirm ? `deleted ${filename}` : `kept ${filename}`);
    }).created(), schema({ filename: { type: 'string' } }));
    tool('multi_input', () => new Task(async task => {
        const answers = await task.ask({ first: confirm('one'), second: confirm('two') });
        return say(JSON.stringify(answers));
    }).created());
    tool('test_tool_with_task', (_, ctx) => {
        const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_name');
        if (typeof given?.name !== 'string') return inputRequired({ inputRequests: { user_name: ask('What is your name?', text('name')) } });
        return new Task(async task => {
            await task.sleep(100);
            return say(`Hello, ${given.name}!`);
        }).created();
    });

    // The SDK makes a tool result of whatever a tool throws: what a client must declare is looked at before.
    const handlers = server.server._requestHandlers;
    const call = handlers.get('tools/call');
    handlers.set('tools/call', (request, ctx) => {
        const name = request.params?.name;
        const asks = request.params?._meta?.[CAN]?.extensions?.[TASKS] !== undefined;
        if (needed.has(name) && !asks && !follows(ctx)) throw missing();
        return call(request, ctx);
    });

    const method = (name, extra, run) => server.server.setRequestHandler(name, { params: z.looseObject({ taskId: z.string(), ...extra }) }, (params, ctx) => {
        if (!follows(ctx)) throw missing();
        const task = tasks.get(params.taskId);
        if (!task) throw new sdk.ProtocolError(-32602, 'there is no such task');
        return run(task, params, ctx);
    });
    method('tasks/get', {}, task => task.record());
    method('tasks/cancel', {}, task => {
        task.to('cancelled');
        return { resultType: 'complete' };
    });
    method('tasks/update', { inputResponses: z.record(z.string(), z.unknown()).optional() }, (task, params, ctx) => {
        const answers = params.inputResponses ?? ctx.mcpReq.inputResponses ?? {};
        for (const key of Object.keys(answers)) task.pending.get(key)?.(answers[key]);
        return { resultType: 'complete' };
    });
}

module.exports = { add, extension: { [TASKS]: {} } };
