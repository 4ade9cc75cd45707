// LangChain: an agent with the tools of @langchain/mcp-adapters and the middleware that repeats what fails.

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { createAgent, toolRetryMiddleware } from 'langchain';
import { CALL_MS, drive } from './driver.mjs';

class ScriptedModel extends BaseChatModel {
    constructor(script) {
        super({});
        this.script = script;
    }

    _llmType() {
        return 'scripted';
    }

    bindTools() {
        return this;
    }

    async _generate(messages) {
        const last = messages.at(-1);
        const tool = this.script.next(last instanceof ToolMessage ? last.text : undefined);
        const tool_calls = tool ? [{ name: tool, args: this.script.arguments, id: this.script.callId, type: 'tool_call' }] : [];
        const message = new AIMessage({ content: 'done', tool_calls });
        return { generations: [{ text: 'done', message }] };
    }
}

await drive(async ({ url, command, args, env }, script) => {
    const connection = url ? { transport: 'http', url } : { transport: 'stdio', command, args, env };
    const client = new MultiServerMCPClient({ mcpServers: { it: { ...connection, defaultToolTimeout: CALL_MS } } });
    try {
        const middleware = [toolRetryMiddleware({ maxRetries: Number(process.argv[2]), initialDelayMs: 100 })];
        const agent = createAgent({ model: new ScriptedModel(script), tools: await client.getTools(), middleware });
        await agent.invoke({ messages: [{ role: 'user', content: 'pay' }] });
    } finally {
        await client.close();
    }
});
