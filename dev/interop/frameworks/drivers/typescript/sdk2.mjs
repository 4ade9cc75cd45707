// The TypeScript SDK, version 2: its client, which repeats nothing.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CALL_MS, drive, playCalls, textOf } from './driver.mjs';

await drive(async ({ url, command, args, env }, script) => {
    const client = new Client({ name: 'frameworks', version: '1' });
    const transport = url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env });
    await client.connect(transport);
    const options = { timeout: CALL_MS };
    await client.listTools();
    await playCalls(script, async (name, args) => textOf(await client.callTool({ name, arguments: args }, options)));
    await client.close();
});
