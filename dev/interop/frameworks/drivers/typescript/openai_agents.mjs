// OpenAI Agents: an agent with one MCP server.

import { Agent, MCPServerStdio, MCPServerStreamableHttp, Runner, Usage, setTracingDisabled } from '@openai/agents-core';
import { CALL_MS, drive } from './driver.mjs';

const model = script => ({
    async getResponse({ input }) {
        const said = Array.isArray(input) ? input.filter(({ type }) => type === 'function_call_result') : [];
        const tool = script.next(said.length > 0 ? text(said.at(-1).output) : undefined);
        const item = tool
            ? { type: 'function_call', callId: script.callId, name: tool, status: 'completed', arguments: JSON.stringify(script.arguments) }
            : { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] };
        return { usage: new Usage(), output: [item] };
    },
    getStreamedResponse() {
        throw new Error('not streamed');
    }
});

const text = output => (typeof output === 'string' ? output : [output].flat().map(part => part.text ?? JSON.stringify(part)).join(' '));

setTracingDisabled(true);
await drive(async ({ url, command, args, env }, script) => {
    const limits = { timeout: CALL_MS, clientSessionTimeoutSeconds: CALL_MS / 1000 };
    const server = url
        ? new MCPServerStreamableHttp({ url, ...limits })
        : new MCPServerStdio({ command, args, env, ...limits });
    await server.connect();
    try {
        const agent = new Agent({ name: 'it', model: model(script), mcpServers: [server] });
        await new Runner({ tracingDisabled: true }).run(agent, 'pay');
    } finally {
        await server.close();
    }
});
