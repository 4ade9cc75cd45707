// The surface of README.md, for both TypeScript SDKs. An SDK is given as these functions:
//
//   serverOf(info, options)           makes a server that is not connected yet
//   handle(server, method, answer)    answers a method with answer(params, context)
//   transportOf(options)              makes a Streamable HTTP transport for node
//   stdioOf()                         makes a transport over stdin and stdout
//   sseOf(path, response)             makes a transport over HTTP+SSE, if the SDK has one
//   hasTasks                          whether it has the tasks of 2025-11-25; its context then has begin(work)
//                                     for a call that asks for one
//   stateless(make)                   if it speaks 2026-07-28: a handler { serve(request, response) } of
//                                     such requests, by a server for each, made by make(news)
//
//   fixture(sdk, news)                if it has another surface than README.md: makes a server with that
//
// and its context as { signal, token, notify(notification), log(level, data), ask(method, params), header(name),
// closeStream() }.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';

const STATELESS = '2026-07-28';
const PAGE = 5;
const SDK_ANSWERS = process.env.INTEROP_SESSIONS === 'sdk';
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error'];
const NAMES = ['Ada', 'Alan', 'Grace'];
const FORM = {
    type: 'object',
    properties: {
        name: { type: 'string', default: 'Ada' },
        age: { type: 'integer', default: 36 },
        keen: { type: 'boolean', default: true }
    }
};

// A line that survives us: one write to a file opened for appending.
const note = line => appendFileSync(process.env.INTEROP_LEDGER, line + '\n');

const pause = (time, signal) =>
    new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, time);
        signal?.addEventListener('abort', () => {
            clearTimeout(timer);
            reject(new Error('cancelled'));
        });
    });

const tool = (name, args = {}, readOnlyHint = false) => ({
    name,
    description: `See ${name} in the README.`,
    inputSchema: {
        type: 'object',
        properties: Object.fromEntries(Object.entries(args).map(([key, type]) => [key, { type }]))
    },
    annotations: { readOnlyHint }
});

const ROUTE = tool('route', { region: 'string' }, true);
ROUTE.inputSchema.properties.region['x-mcp-header'] = 'Region';

const TOOLS = [
    tool('add', { a: 'number', b: 'number' }, true),
    tool('ask_elicitation'),
    tool('ask_roots'),
    tool('ask_sampling', { prompt: 'string' }),
    tool('ask_url'),
    tool('change'),
    tool('count', { key: 'string', pause_ms: 'number' }),
    tool('drop_stream', { key: 'string' }),
    tool('echo', { text: 'string' }, true),
    tool('fail'),
    tool('log'),
    ROUTE,
    tool('slow', { key: 'string', steps: 'number', pause_ms: 'number' }),
    tool('touch'),
    tool('wait', { key: 'string' })
];

// For SDKs that have tasks.
const LATER = { ...tool('later', { key: 'string', pause_ms: 'number' }), execution: { taskSupport: 'optional' } };

const run = {
    add: ({ a, b }) => String(a + b),
    async ask_elicitation(_, context) {
        const params = { mode: 'form', message: 'Who is it?', requestedSchema: FORM };
        const { action, content } = await context.ask('elicitation/create', params);
        return JSON.stringify({ action, content });
    },
    async ask_roots(_, context) {
        const { roots } = await context.ask('roots/list');
        return JSON.stringify(roots.map(root => root.uri));
    },
    async ask_sampling({ prompt }, context) {
        const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
        const { content } = await context.ask('sampling/createMessage', { messages, maxTokens: 50 });
        return content.text;
    },
    async ask_url(_, context) {
        const url = 'https://interop.example/page';
        const params = { mode: 'url', message: 'Please look', url, elicitationId: 'page-1' };
        const { action } = await context.ask('elicitation/create', params);
        return action;
    },
    async change(_, __, { server, news }) {
        TOOLS.push(tool(`added_${TOOLS.length}`));
        if (news) {
            news.toolsChanged();
            news.promptsChanged();
            news.resourcesChanged();
            return 'changed';
        }
        await server.sendToolListChanged();
        await server.sendPromptListChanged();
        await server.sendResourceListChanged();
        return 'changed';
    },
    async count({ key, pause_ms = 0 }) {
        note(`ran ${key}`);
        await pause(pause_ms);
        return key;
    },
    async drop_stream({ key }, context) {
        note(`ran ${key}`);
        context.closeStream?.();
        await pause(300);
        return key;
    },
    echo: ({ text }) => text,
    fail() {
        throw new RangeError('this tool always fails');
    },
    async later({ key, pause_ms }, { signal }) {
        note(`ran ${key}`);
        await pause(pause_ms, signal);
        return key;
    },
    async log(_, context, { level, news }) {
        // Without a session the level comes with the request, and the SDK looks at it.
        if (news) {
            for (const each of LEVELS) await context.log(each, `a ${each} message`);
            return 'logged';
        }
        for (const each of LEVELS.slice(LEVELS.indexOf(level))) {
            const params = { level: each, logger: 'interop', data: `a ${each} message` };
            await context.notify({ method: 'notifications/message', params });
        }
        return 'logged';
    },
    route: (_, { header }) => header?.('mcp-param-region') ?? 'no header',
    async slow({ key, steps, pause_ms }, context) {
        note(`ran ${key}`);
        for (let step = 1; step <= steps; step++) {
            await pause(pause_ms);
            if (context.token === undefined) continue;
            const params = { progressToken: context.token, progress: step, total: steps };
            await context.notify({ method: 'notifications/progress', params });
        }
        return key;
    },
    async touch(_, __, { server, news, subscribed }) {
        news?.resourceUpdated('test://note');
        if (subscribed.has('test://note')) await server.sendResourceUpdated({ uri: 'test://note' });
        return 'touched';
    },
    async wait({ key }, { signal }) {
        note(`began ${key}`);
        try {
            await pause(20_000, signal);
        } catch (error) {
            note(`cancelled ${key}`);
            throw error;
        }
        return key;
    }
};

const refusal = (code, message) => Object.assign(new Error(message), { code });

function read({ uri }) {
    const item = uri.match(/^test:\/\/item\/(.+)$/);
    if (uri !== 'test://note' && !item) throw refusal(-32002, `no resource \`${uri}\``);
    return { contents: [{ uri, mimeType: 'text/plain', text: item ? `item ${item[1]}` : 'a note' }] };
}

function page({ cursor } = {}) {
    const start = Number(cursor ?? 0);
    const more = start + PAGE < TOOLS.length ? { nextCursor: String(start + PAGE) } : {};
    return { tools: TOOLS.slice(start, start + PAGE), ...more };
}

async function call({ name, arguments: args = {} }, context, session) {
    if (!Object.hasOwn(run, name)) throw refusal(-32602, `no tool \`${name}\``);
    if (context.begin) {
        const work = () => run[name](args, { ...context, signal: undefined }, session);
        return context.begin(async () => ({ content: [{ type: 'text', text: await work() }] }));
    }
    try {
        return { content: [{ type: 'text', text: await run[name](args, context, session) }] };
    } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return { content: [{ type: 'text', text: error.message }], isError: true };
    }
}

// A server for one session, or for one request without any: both SDKs want one each. What a stateless one
// tells goes by `news`.
function serverFor(sdk, news) {
    if (sdk.fixture) return sdk.fixture(sdk, news);
    const capabilities = {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        tools: { listChanged: true }
    };
    if (sdk.hasTasks) {
        if (!TOOLS.includes(LATER)) TOOLS.push(LATER);
        capabilities.tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    }
    const server = sdk.serverOf({ name: sdk.name, version: '1' }, { capabilities });
    const session = { server, news, level: 'debug', subscribed: new Set() };
    const text = value => ({ role: 'user', content: { type: 'text', text: value } });
    const answers = {
        'tools/list': page,
        'tools/call': (params, context) => call(params, context, session),
        'resources/list': () => ({ resources: [{ uri: 'test://note', name: 'note', mimeType: 'text/plain' }] }),
        'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'test://item/{id}', name: 'item' }] }),
        'resources/read': read,
        'resources/subscribe': ({ uri }) => (session.subscribed.add(uri), {}),
        'resources/unsubscribe': ({ uri }) => (session.subscribed.delete(uri), {}),
        'prompts/list': () => ({
            prompts: [{ name: 'greet', arguments: [{ name: 'name', required: true }] }, { name: 'plain' }]
        }),
        'prompts/get': ({ name, arguments: args }) => ({
            messages: [text(name === 'greet' ? `Hello, ${args.name}!` : 'Hello!')]
        }),
        'completion/complete': ({ argument }) => {
            const values = NAMES.filter(name => name.startsWith(argument.value));
            return { completion: { values, total: values.length, hasMore: false } };
        },
        'logging/setLevel': ({ level }) => ((session.level = level), {})
    };
    for (const [method, answer] of Object.entries(answers)) sdk.handle(server, method, answer);
    return server;
}

class Memory {
    events = [];

    async storeEvent(stream, message) {
        this.events.push({ stream, message });
        return String(this.events.length - 1);
    }

    async getStreamIdForEventId(id) {
        return this.events[Number(id)]?.stream;
    }

    async replayEventsAfter(id, { send }) {
        const stream = this.events[Number(id)].stream;
        for (let index = Number(id) + 1; index < this.events.length; index++) {
            const event = this.events[index];
            // A priming event is stored as an empty message and is nobody's to see again.
            if (event.stream === stream && event.message.jsonrpc) await send(String(index), event.message);
        }
        return stream;
    }
}

const error = (response, status, message) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }));
};

async function open(sdk, transports) {
    const transport = sdk.transportOf({
        sessionIdGenerator: randomUUID,
        eventStore: new Memory(),
        retryInterval: 200,
        enableJsonResponse: 'INTEROP_JSON' in process.env,
        onsessioninitialized: id => void transports.set(id, transport),
        // A closed transport says by itself that its session is gone, if it is asked.
        onsessionclosed: id => void (SDK_ANSWERS || transports.delete(id))
    });
    await serverFor(sdk).connect(transport);
    return transport;
}

function streamableHttp(sdk) {
    const transports = new Map();
    const only = process.env.INTEROP_ERA;
    const stateless = only === 'Legacy' ? undefined : sdk.stateless?.(news => serverFor(sdk, news));
    return createServer(async (request, response) => {
        if (!request.url.startsWith('/mcp')) return error(response, 404, 'Not found');
        const isStateless = request.headers['mcp-protocol-version'] === STATELESS;
        if (stateless && (isStateless || only === 'Modern')) return stateless.serve(request, response);
        const id = request.headers['mcp-session-id'];
        const known = id && transports.get(id);
        // A new transport says by itself that it has no session yet, if it is asked.
        const transport = id && !SDK_ANSWERS ? known : known || (await open(sdk, transports));
        if (!transport) return error(response, 404, 'Session not found');
        await transport.handleRequest(request, response);
    });
}

function httpSse(sdk) {
    const transports = new Map();
    return createServer(async (request, response) => {
        const { pathname, searchParams } = new URL(request.url, 'http://localhost');
        if (request.method === 'GET' && pathname === '/sse') {
            const transport = sdk.sseOf('/messages', response);
            transports.set(transport.sessionId, transport);
            response.on('close', () => transports.delete(transport.sessionId));
            return serverFor(sdk).connect(transport);
        }
        const transport = transports.get(searchParams.get('sessionId'));
        if (pathname !== '/messages' || !transport) return error(response, 404, 'Not found');
        await transport.handlePostMessage(request, response);
    });
}

export function serve(sdk) {
    if (process.argv[2] === 'stdio') return serverFor(sdk).connect(sdk.stdioOf());
    const isOld = process.argv[2] === 'sse';
    const http = isOld ? httpSse(sdk) : streamableHttp(sdk);
    http.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
        console.log(`listening on http://127.0.0.1:${http.address().port}/${isOld ? 'sse' : 'mcp'}`);
    });
    process.on('SIGTERM', () => {
        http.close();
        setTimeout(() => process.exit(0), 500);
    });
}
