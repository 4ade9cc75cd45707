// A host for both TypeScript SDKs: it starts a stdio server by the SDK's own client and does what the lines of
// its stdin ask for. See README.md; the answers to what a server asks are the same in every host.
// An SDK is given as four functions:
//
//   clientOf(info, options)            makes a client that is not connected yet
//   handle(client, method, answer)     answers a question of the server with answer(params)
//   transportOf(options)               makes a stdio transport: { command, args }
//   httpOf(url)                        makes a Streamable HTTP transport
//   call(client, params, options)      calls a tool
//   task(client, params)               calls a tool as a task, if the SDK has tasks: a stream of what happens

import { createInterface } from 'node:readline';

// Which revision the host speaks: one with sessions, or the one without.
const isStateless = process.env.INTEROP_HOST_ERA === 'Modern';
const FORM = { name: 'Ada', age: 36, keen: true };
const LISTS = {
    prompts: ['listPrompts', 'name'],
    resources: ['listResources', 'uri'],
    tools: ['listTools', 'name']
};

const say = line => process.stdout.write(JSON.stringify(line) + '\n');

const answers = {
    'elicitation/create': ({ mode }) => (mode === 'url' ? { action: 'accept' } : { action: 'accept', content: FORM }),
    'roots/list': () => ({ roots: [{ uri: 'file:///interop/root', name: 'a folder' }] }),
    'sampling/createMessage': ({ messages }) => {
        const prompt = [messages[0].content].flat()[0].text;
        return { role: 'assistant', content: { type: 'text', text: `a message about: ${prompt}` }, model: 'none' };
    }
};

// Has a host offer an older revision than its SDK does. Answers in that revision are fine with every SDK.
function speakOnly(transport, protocolVersion) {
    const send = transport.send.bind(transport);
    transport.send = (message, options) =>
        send(message.method === 'initialize' ? { ...message, params: { ...message.params, protocolVersion } } : message, options);
    const agreed = transport.setProtocolVersion.bind(transport);
    transport.setProtocolVersion = version => {
        if (version !== protocolVersion) throw new Error(`${version} was agreed on`);
        agreed(version);
    };
}

// What each call says of itself.
let meta;

const deeds = (sdk, client, running) => ({
    async call({ id, tool, arguments: args }) {
        running.set(id, new AbortController());
        const onprogress = ({ progress, total }) => say({ told: 'progress', params: { of: id, progress, total } });
        const options = { signal: running.get(id).signal, onprogress };
        const result = await sdk.call(client, { name: tool, arguments: args, _meta: meta }, options);
        return { text: result.content[0].text, isError: result.isError ?? false };
    },
    cancel: ({ of }) => running.get(of).abort('the host has seen enough'),
    level({ level }) {
        if (!isStateless) return client.setLoggingLevel(level);
        meta = { 'io.modelcontextprotocol/logLevel': level };
    },
    async list({ what }) {
        const [method, name] = LISTS[what];
        const names = [];
        let cursor;
        do {
            const page = await client[method](cursor === undefined ? undefined : { cursor });
            names.push(...page[what].map(item => item[name]));
            cursor = page.nextCursor;
        } while (cursor !== undefined);
        return names;
    },
    prompt: async ({ name, arguments: args }) =>
        (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
    read: async ({ uri }) => (await client.readResource({ uri })).contents[0].text,
    async subscribe({ uri }) {
        if (!isStateless) return client.subscribeResource({ uri });
        await client.listen({ resourceSubscriptions: [uri] });
    },
    async task({ tool, arguments: args }) {
        const seen = { ids: [], statuses: [] };
        for await (const { type, task, result, error } of sdk.task(client, { name: tool, arguments: args })) {
            if (error) throw error;
            if (task) seen.ids.push(task.taskId);
            if (task) seen.statuses.push(task.status);
            if (type === 'result') seen.text = result.content[0].text;
        }
        return seen;
    }
});

export async function host(sdk) {
    const [command, ...args] = process.argv.slice(2);
    const isHttp = command.startsWith('http://');
    // A host of an older revision knows forms only, and does not call them so.
    const elicitation = isHttp && !process.env.INTEROP_HOST_REVISION ? { form: {}, url: {} } : {};
    const capabilities = { elicitation, roots: {}, sampling: {} };
    const versionNegotiation = { mode: isStateless ? { pin: '2026-07-28' } : 'legacy' };
    const client = sdk.clientOf({ name: 'interop-host', version: '1' }, { capabilities, versionNegotiation });
    for (const [method, answer] of Object.entries(answers)) sdk.handle(client, method, answer);
    client.fallbackNotificationHandler = async ({ method, params }) => say({ told: method, params });
    client.onerror = error => console.error('onerror:', error.message);
    const transport = isHttp ? sdk.httpOf(new URL(command)) : sdk.transportOf({ command, args });
    if (process.env.INTEROP_HOST_REVISION) speakOnly(transport, process.env.INTEROP_HOST_REVISION);
    await client.connect(transport);
    if (isStateless) await client.listen({ toolsListChanged: true });
    const { name } = client.getServerVersion();
    say({ id: 0, result: { server: name } });
    const running = new Map();
    const does = deeds(sdk, client, running);
    const serve = async line => {
        try {
            say({ id: line.id, result: (await does[line.do](line)) ?? null });
        } catch (error) {
            say({ id: line.id, error: { message: error.message ?? String(error), data: error.data } });
        }
    };
    for await (const line of createInterface({ input: process.stdin })) void serve(JSON.parse(line));
    await client.close();
}
