// The surface of ../README.md on the TypeScript SDK, version 1.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { fixture } from '../conformance.mjs';
import { serve } from '../surface.mjs';

const REQUESTS = {
    'completion/complete': types.CompleteRequestSchema,
    'logging/setLevel': types.SetLevelRequestSchema,
    'prompts/get': types.GetPromptRequestSchema,
    'prompts/list': types.ListPromptsRequestSchema,
    'resources/list': types.ListResourcesRequestSchema,
    'resources/read': types.ReadResourceRequestSchema,
    'resources/subscribe': types.SubscribeRequestSchema,
    'resources/templates/list': types.ListResourceTemplatesRequestSchema,
    'resources/unsubscribe': types.UnsubscribeRequestSchema,
    'tools/call': types.CallToolRequestSchema,
    'tools/list': types.ListToolsRequestSchema
};

const RESULTS = {
    'elicitation/create': types.ElicitResultSchema,
    'roots/list': types.ListRootsResultSchema,
    'sampling/createMessage': types.CreateMessageResultSchema
};

const contextOf = extra => ({
    signal: extra.signal,
    token: extra._meta?.progressToken,
    notify: notification => extra.sendNotification(notification),
    ask: (method, params) => extra.sendRequest({ method, params }, RESULTS[method]),
    closeStream: extra.closeSSEStream
});

serve({
    name: 'interop-typescript',
    fixture: 'INTEROP_CONFORMANCE' in process.env ? fixture : undefined,
    serverOf: (info, options) => new Server(info, options),
    handle: (server, method, answer) =>
        server.setRequestHandler(REQUESTS[method], (request, extra) => answer(request.params, contextOf(extra))),
    stdioOf: () => new StdioServerTransport(),
    sseOf: (path, response) => new SSEServerTransport(path, response),
    transportOf: options => new StreamableHTTPServerTransport(options)
});
