// The TypeScript SDK, version 1: its client, which repeats nothing.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CALL_MS, drive, playCalls, textOf } from './driver.mjs';

await drive(async ({ url, command, args, env }, script) => {
    const client = new Client({ name: 'frameworks', version: '1' });
    const transport = url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env });
    await client.connect(transport);
    const options = { timeout: CALL_MS };
    await client.listTools();
    await playCalls(script, async (name, args) => textOf(await client.callTool({ name, arguments: args }, undefined, options)));
    await client.close();
});
