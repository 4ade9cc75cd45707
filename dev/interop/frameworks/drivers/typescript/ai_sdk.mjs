// The AI SDK: `generateText` with the tools of an MCP client, whose calls it repeats `maxRetries` times.

import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { drive } from './driver.mjs';

const USAGE = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

const model = script =>
    new MockLanguageModelV3({
        doGenerate: async ({ prompt }) => {
            const last = prompt.at(-1);
            const tool = script.next(last.role === 'tool' ? shown(last.content.at(-1).output) : undefined);
            const content = tool
                ? [{ type: 'tool-call', toolCallId: script.callId, toolName: tool, input: JSON.stringify(script.arguments) }]
                : [{ type: 'text', text: 'done' }];
            return { content, finishReason: { unified: tool ? 'tool-calls' : 'stop' }, usage: USAGE, warnings: [] };
        }
    });

const shown = ({ value }) => (typeof value === 'string' ? value : JSON.stringify(value));

await drive(async ({ url, command, args, env }, script) => {
    const transport = url ? { type: 'http', url } : new StdioTransport({ command, args, env });
    const client = await createMCPClient({ transport, maxRetries: Number(process.argv[2]) });
    try {
        await generateText({ model: model(script), tools: await client.tools(), prompt: 'pay', stopWhen: isStepCount(5) });
    } finally {
        await client.close();
    }
});
