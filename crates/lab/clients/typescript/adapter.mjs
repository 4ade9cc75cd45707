// The TypeScript SDK, version 2 (`@modelcontextprotocol/client`), as an adapter of the lab.
// Everything is as the SDK has it by default; a token is given as its guide says.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { main } from './player.mjs';

class Adapter {
    #client = new Client({ name: 'lab-client-typescript', version: '1.0.0' });
    #transport;

    constructor(url, bearer, hear) {
        const options = bearer === undefined ? {} : { authProvider: { token: async () => bearer } };
        this.#transport = new StreamableHTTPClientTransport(new URL(url), options);
        this.#client.fallbackNotificationHandler = async (notification) => hear(notification);
        this.#client.onerror = (error) => console.error('onerror:', error.message);
    }

    async connect() {
        await this.#client.connect(this.#transport);
        return {
            protocolVersion: this.#client.getNegotiatedProtocolVersion(),
            capabilities: this.#client.getServerCapabilities(),
            serverInfo: this.#client.getServerVersion(),
            instructions: this.#client.getInstructions(),
        };
    }

    call(tool, args, options) {
        return this.#client.callTool({ name: tool, arguments: args }, options);
    }

    request(method, params, options) {
        return this.#client.request({ method, params }, ANYTHING, options);
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

/// A schema that takes every result as it is.
const ANYTHING = { '~standard': { version: 1, vendor: 'lab', validate: (value) => ({ value }) } };

await main(Adapter);
