// The TypeScript SDK, version 1 (`@modelcontextprotocol/sdk`), as an adapter of the lab.
// Everything is as the SDK has it by default; a token is given in a header, as its examples do.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { main } from './player.mjs';

class Adapter {
    #client = new Client({ name: 'lab-client-typescript-v1', version: '1.0.0' });
    #transport;

    constructor(url, { bearer }, hear) {
        const headers = bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` };
        this.#transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
        this.#client.fallbackNotificationHandler = async (notification) => hear(notification);
        this.#client.onerror = (error) => console.error('onerror:', error.message);
    }

    async connect() {
        await this.#client.connect(this.#transport);
        return {
            protocolVersion: this.#transport.protocolVersion,
            capabilities: this.#client.getServerCapabilities(),
            serverInfo: this.#client.getServerVersion(),
            instructions: this.#client.getInstructions(),
        };
    }

    call(tool, args, options) {
        return this.#client.callTool({ name: tool, arguments: args }, undefined, options);
    }

    request(method, params, options) {
        return this.#client.request({ method, params }, ResultSchema, options);
    }

    async close() {
        try {
            // As the SDK recommends to whoever needs a session no longer.
            await this.#transport.terminateSession();
        } finally {
            await this.#client.close();
        }
    }
}

await main(Adapter);
