// The tools, resources and prompts that the official suite asks servers for, for both TypeScript SDKs: its
// scenarios say what each does. An SDK is given as in surface.mjs.

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const text = value => ({ type: 'text', text: value });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const said = (...content) => ({ content });
const pause = time => new Promise(resolve => setTimeout(resolve, time));
const refusal = (code, message, data) => Object.assign(new Error(message), { code, data });
const embedded = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } });

const ask = (context, message, properties, required) =>
    context.ask('elicitation/create', { mode: 'form', message, requestedSchema: { type: 'object', properties, required } });
const answered = ({ action, content }) =>
    said(text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`));

const OPTIONS = ['option1', 'option2', 'option3'];
const TITLED = [1, 2, 3].map(at => ({ const: `value${at}`, title: `Option ${at}` }));
const ENUMS = {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: TITLED },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: TITLED } }
};
const DEFAULTS = {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true }
};

const SCHEMA_2020 = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
        address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } }
        }
    },
    properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' }
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false
};

// Each tool: what it takes, and what it does.
const TOOLS = {
    test_simple_text: [{}, () => said(text('This is a simple text response for testing.'))],
    test_image_content: [{}, () => said(image)],
    test_audio_content: [{}, () => said({ type: 'audio', data: SOUND, mimeType: 'audio/wav' })],
    test_embedded_resource: [
        {},
        () => said(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'))
    ],
    test_multiple_content_types: [
        {},
        () =>
            said(
                text('Multiple content types test:'),
                image,
                embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')
            )
    ],
    test_tool_with_logging: [
        {},
        async (_, context) => {
            for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
                await context.notify({ method: 'notifications/message', params: { level: 'info', data } });
                await pause(50);
            }
            return said(text('Tool with logging executed successfully'));
        }
    ],
    test_logging_tool: [
        {},
        async (_, context) => {
            await context.log?.('info', 'a message');
            return said(text('logged, if it was asked for'));
        }
    ],
    test_tool_with_progress: [
        {},
        async (_, context) => {
            for (const progress of [0, 50, 100]) {
                if (context.token !== undefined) {
                    const params = { progressToken: context.token, progress, total: 100 };
                    await context.notify({ method: 'notifications/progress', params });
                }
                await pause(50);
            }
            return said(text(String(context.token ?? 0)));
        }
    ],
    test_error_handling: [
        {},
        () => ({ ...said(text('This tool intentionally returns an error for testing')), isError: true })
    ],
    test_reconnection: [
        {},
        async (_, context) => {
            context.closeStream?.();
            await pause(100);
            return said(text('Reconnection test completed successfully.'));
        }
    ],
    test_sampling: [
        { prompt: { type: 'string' } },
        async ({ prompt }, context) => {
            const messages = [{ role: 'user', content: text(prompt) }];
            const { content } = await context.ask('sampling/createMessage', { messages, maxTokens: 100 });
            return said(text(`LLM response: ${[content].flat()[0].text}`));
        }
    ],
    test_elicitation: [
        { message: { type: 'string' } },
        async ({ message }, context) => {
            const properties = { username: { type: 'string' }, email: { type: 'string' } };
            return answered(await ask(context, message, properties, ['username', 'email']));
        }
    ],
    test_elicitation_sep1034_defaults: [
        {},
        async (_, context) => answered(await ask(context, 'Please look at the defaults', DEFAULTS, []))
    ],
    test_elicitation_sep1330_enums: [{}, async (_, context) => answered(await ask(context, 'Please choose', ENUMS, []))],
    test_input_required_result_elicitation: [
        {},
        async (_, context) => {
            const { content } = await ask(context, 'What is your name?', { name: { type: 'string' } }, ['name']);
            return said(text(`Hello, ${content?.name}!`));
        }
    ],
    test_input_required_result_sampling: [
        {},
        async (_, context) => {
            const messages = [{ role: 'user', content: text('What is the capital of France?') }];
            const { content } = await context.ask('sampling/createMessage', { messages, maxTokens: 100 });
            return said(text([content].flat()[0].text));
        }
    ],
    test_input_required_result_list_roots: [
        {},
        async (_, context) => {
            const { roots } = await context.ask('roots/list');
            return said(text(roots.map(root => root.uri).join(', ')));
        }
    ],
    test_input_required_result_request_state: [
        {},
        async (_, context) => {
            await ask(context, 'Please confirm', { ok: { type: 'boolean' } }, ['ok']);
            return said(text('state-ok'));
        }
    ],
    json_schema_2020_12_tool: [SCHEMA_2020, args => said(text(JSON.stringify(args)))]
};

const listed = ([name, [schema]]) => ({
    name,
    description: `See \`${name}\` in the suite.`,
    inputSchema: schema.$schema ? schema : { type: 'object', properties: schema, required: Object.keys(schema) }
});

const RESOURCES = {
    'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
    'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
    'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' }
};

function read({ uri }) {
    const id = uri.match(/^test:\/\/template\/(.+)\/data$/)?.[1];
    const made = { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
    const found = RESOURCES[uri] ?? (id && made);
    if (!found) throw refusal(-32602, `Resource not found: ${uri}`, { uri });
    return { contents: [{ uri, ...found }] };
}

const says = content => ({ role: 'user', content });
const PROMPTS = {
    test_simple_prompt: [[], () => [says(text('This is a simple prompt for testing.'))]],
    test_prompt_with_arguments: [
        ['arg1', 'arg2'],
        ({ arg1, arg2 }) => [says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))]
    ],
    test_prompt_with_embedded_resource: [
        ['resourceUri'],
        ({ resourceUri }) => [
            says(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
            says(text('Please process the embedded resource above.'))
        ]
    ],
    test_prompt_with_image: [[], () => [says(image), says(text('Please analyze the image above.'))]]
};

export function fixture(sdk, news) {
    const capabilities = {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        tools: { listChanged: true }
    };
    const server = sdk.serverOf({ name: sdk.name, version: '1' }, { capabilities });
    const answers = {
        'tools/list': () => ({ tools: Object.entries(TOOLS).map(listed) }),
        'tools/call': ({ name, arguments: args = {} }, context) => {
            if (!Object.hasOwn(TOOLS, name)) throw refusal(-32602, `Unknown tool: ${name}`);
            return TOOLS[name][1](args, context);
        },
        'resources/list': () => ({
            resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), mimeType }))
        }),
        'resources/templates/list': () => ({
            resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }]
        }),
        'resources/read': read,
        'resources/subscribe': () => ({}),
        'resources/unsubscribe': () => ({}),
        'prompts/list': () => ({
            prompts: Object.entries(PROMPTS).map(([name, [args]]) => ({
                name,
                description: `See \`${name}\` in the suite.`,
                arguments: args.map(arg => ({ name: arg, required: true }))
            }))
        }),
        'prompts/get': ({ name, arguments: args = {} }) => {
            if (!Object.hasOwn(PROMPTS, name)) throw refusal(-32602, `Unknown prompt: ${name}`);
            return { messages: PROMPTS[name][1](args) };
        },
        'completion/complete': ({ argument }) => {
            const values = ['test-value-1', 'test-value-2'].filter(value => value.startsWith(argument.value));
            return { completion: { values, total: values.length, hasMore: false } };
        },
        'logging/setLevel': () => ({})
    };
    for (const [method, answer] of Object.entries(answers)) sdk.handle(server, method, answer);
    return server;
}
