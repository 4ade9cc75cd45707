// A host on the TypeScript SDK, version 1.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { host } from '../host.mjs';

const QUESTIONS = {
    'elicitation/create': types.ElicitRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
    'sampling/createMessage': types.CreateMessageRequestSchema
};

await host({
    clientOf: (info, options) => new Client(info, options),
    handle: (client, method, answer) => client.setRequestHandler(QUESTIONS[method], ({ params }) => answer(params)),
    transportOf: options => new StdioClientTransport(options),
    httpOf: url => new StreamableHTTPClientTransport(url),
    call: (client, params, options) => client.callTool(params, undefined, options),
    task: (client, params) =>
        client.experimental.tasks.callToolStream(params, types.CallToolResultSchema, { task: { ttl: 60_000 } })
});
