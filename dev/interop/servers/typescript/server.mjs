// The surface of ../README.md on the TypeScript SDK, version 1.

import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
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

// One for all sessions: each has a server of its own.
const taskStore = new InMemoryTaskStore();

// Makes a task of a call that asks for one.
const beginnerOf = (params, extra) =>
    params.task &&
    (async work => {
        const task = await extra.taskStore.createTask({ ttl: params.task.ttl ?? 60_000, pollInterval: 50 });
        void work().then(result => extra.taskStore.storeTaskResult(task.taskId, 'completed', result));
        return { task };
    });

const contextOf = (params, extra) => ({
    begin: beginnerOf(params ?? {}, extra),
    signal: extra.signal,
    token: extra._meta?.progressToken,
    notify: notification => extra.sendNotification(notification),
    ask: (method, params) => extra.sendRequest({ method, params }, RESULTS[method]),
    closeStream: extra.closeSSEStream
});

serve({
    name: 'interop-typescript',
    fixture: 'INTEROP_CONFORMANCE' in process.env ? fixture : undefined,
    hasTasks: true,
    serverOf: (info, options) => new Server(info, { ...options, taskStore }),
    handle: (server, method, answer) =>
        server.setRequestHandler(REQUESTS[method], (request, extra) => answer(request.params, contextOf(request.params, extra))),
    stdioOf: () => new StdioServerTransport(),
    sseOf: (path, response) => new SSEServerTransport(path, response),
    transportOf: options => new StreamableHTTPServerTransport(options)
});
