// The surface of ../README.md on the TypeScript SDK, version 2, which comes in several packages. It speaks both
// eras on one endpoint.

import { randomBytes } from 'node:crypto';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { Server, createMcpHandler, createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { fixture } from '../conformance.mjs';
import { serve } from '../surface.mjs';

const codec = createRequestStateCodec({ key: randomBytes(32) });

// Thrown by a tool whose question has to go out as its result, for it to be called again with the answer.
class Asked {
    constructor(result) {
        this.result = result;
    }
}

async function askInRounds(mcpReq, context, method, params) {
    const state = `asked ${method}`;
    if (!mcpReq.inputResponses) {
        const it = { method, params };
        throw new Asked(inputRequired({ inputRequests: { it }, requestState: await codec.mint(state, context) }));
    }
    if (mcpReq.requestState() !== state) throw new Error(`the state is \`${mcpReq.requestState()}\``);
    return mcpReq.inputResponses.it;
}

const contextOf = context => {
    const { mcpReq } = context;
    return {
        signal: mcpReq.signal,
        token: mcpReq._meta?.progressToken,
        notify: notification => mcpReq.notify(notification),
        log: (level, data) => mcpReq.log(level, data, 'interop'),
        ask: (method, params) =>
            mcpReq.envelope ? askInRounds(mcpReq, context, method, params) : mcpReq.send({ method, params }),
        header: name => context.http?.req?.headers.get(name),
        closeStream: context.http?.closeSSE
    };
};

const handler = answer => async (request, context) => {
    try {
        return await answer(request.params, contextOf(context));
    } catch (asked) {
        if (asked instanceof Asked) return asked.result;
        throw asked;
    }
};

serve({
    name: 'interop-typescript-split',
    fixture: 'INTEROP_CONFORMANCE' in process.env ? fixture : undefined,
    serverOf: (info, options) => new Server(info, { ...options, requestState: { verify: codec.verify } }),
    handle: (server, method, answer) => server.setRequestHandler(method, handler(answer)),
    stdioOf: () => new StdioServerTransport(),
    transportOf: options => new NodeStreamableHTTPServerTransport(options),
    stateless: make => {
        const stateless = createMcpHandler(() => make(stateless.notify), { legacy: 'reject' });
        return { serve: toNodeHandler(stateless) };
    }
});
