// Mastra: the tools of its MCP client, which makes some calls anew after it has connected again.

import { MCPClient } from '@mastra/mcp';
import { CALL_MS, drive, playCalls, textOf } from '../typescript/driver.mjs';

const shown = result => (result?.content ? textOf(result) : JSON.stringify(result));

await drive(async ({ key, url, command, args, env }, script) => {
    const server = url ? { url: new URL(url) } : { command, args, env };
    const client = new MCPClient({ id: key, servers: { it: { ...server, timeout: CALL_MS } } });
    try {
        const tools = await client.listTools();
        await playCalls(script, async (name, context) => shown(await tools[`it_${name}`].execute(context)));
    } finally {
        await client.disconnect();
    }
});
