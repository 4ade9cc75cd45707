// The surface of ../README.md on the TypeScript SDK, version 2, which comes in several packages.

import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { serve } from '../surface.mjs';

const contextOf = context => ({
    signal: context.mcpReq.signal,
    token: context.mcpReq._meta?.progressToken,
    notify: notification => context.mcpReq.notify(notification),
    ask: (method, params) => context.mcpReq.send({ method, params }),
    closeStream: context.http?.closeSSE
});

serve({
    name: 'interop-typescript-split',
    serverOf: (info, options) => new Server(info, options),
    handle: (server, method, answer) =>
        server.setRequestHandler(method, (request, context) => answer(request.params, contextOf(context))),
    stdioOf: () => new StdioServerTransport(),
    transportOf: options => new NodeStreamableHTTPServerTransport(options)
});
