// The TypeScript SDK, version 2 (`@modelcontextprotocol/client`), as an adapter of the lab.
// Everything is as the SDK has it by default; a token or a login is given as its guide says.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { Login } from './login.mjs';
import { main } from './player.mjs';

const login = new Login();

class Adapter {
    #client = new Client({ name: 'lab-client-typescript', version: '1.0.0' });
    #url;
    #options;
    #transport;
    #isLoggedIn;

    constructor(url, { bearer, login: asked }, hear) {
        this.#isLoggedIn = asked !== undefined;
        if (this.#isLoggedIn) login.withinMs = asked.within_s * 1000;
        const token = bearer === undefined ? {} : { authProvider: { token: async () => bearer } };
        this.#options = this.#isLoggedIn ? { authProvider: login } : token;
        this.#url = new URL(url);
        this.#client.fallbackNotificationHandler = async (notification) => hear(notification);
        this.#client.onerror = (error) => console.error('onerror:', error.message);
    }

    async connect() {
        if (this.#isLoggedIn) await login.listen();
        await this.#during(() => {
            // A transport is good for one connection, as the SDK has it.
            this.#transport = new StreamableHTTPClientTransport(this.#url, this.#options);
            return this.#client.connect(this.#transport);
        });
        return {
            protocolVersion: this.#client.getNegotiatedProtocolVersion(),
            capabilities: this.#client.getServerCapabilities(),
            serverInfo: this.#client.getServerVersion(),
            instructions: this.#client.getInstructions(),
        };
    }

    call(tool, args, options) {
        return this.#during(() => this.#client.callTool({ name: tool, arguments: args }, options));
    }

    request(method, params, options) {
        return this.#during(() => this.#client.request({ method, params }, ANYTHING, options));
    }

    #during(doing) {
        return this.#isLoggedIn ? login.during(() => this.#transport, doing) : doing();
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
