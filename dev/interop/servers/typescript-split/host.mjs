// A host on the TypeScript SDK, version 2.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { host } from '../host.mjs';

await host({
    clientOf: (info, options) => new Client(info, options),
    handle: (client, method, answer) => client.setRequestHandler(method, ({ params }) => answer(params)),
    transportOf: options => new StdioClientTransport(options),
    httpOf: url => new StreamableHTTPClientTransport(url),
    call: (client, params, options) => client.callTool(params, options)
});
