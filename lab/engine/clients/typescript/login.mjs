// The login of the TypeScript SDK, version 2: an `OAuthClientProvider` in memory, as its guide shows.
//
// The SDK finds the authorization server, registers, refreshes and decides when the person is needed; this
// file opens the browser, waits for it to come back, and compares the `state`, which the SDK leaves to its
// user.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { InsufficientScopeError, UnauthorizedError } from '@modelcontextprotocol/client';

/// One for all clients of a script: a second client finds the login of the first.
export class Login {
    withinMs;
    #saved = {};
    #redirectUrl;
    #waiting = new Map();
    #opened;
    #finishing;

    /// Listens for browsers on a port of this machine.
    async listen() {
        if (this.#redirectUrl !== undefined) return;
        const server = createServer((request, response) => {
            const said = new URL(request.url, 'http://127.0.0.1').searchParams;
            const came = this.#waiting.get(said.get('state'));
            response.writeHead(came === undefined ? 400 : 200, { 'content-type': 'text/plain' });
            response.end('done');
            came?.(said);
        });
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        server.unref();
        this.#redirectUrl = `http://127.0.0.1:${server.address().port}/callback`;
    }

    /// Does something, and once more after a login if the SDK says that the person has to log in.
    async during(transport, doing) {
        try {
            return await doing();
        } catch (error) {
            const isAsked = error instanceof UnauthorizedError || error instanceof InsufficientScopeError;
            if (!isAsked || this.#opened === undefined) throw error;
            // The SDK keeps one verifier: the page that was opened last is the one whose code is good.
            this.#finishing ??= this.#finish(transport()).finally(() => (this.#finishing = undefined));
            await this.#finishing;
            return await doing();
        }
    }

    async #finish(transport) {
        let opened;
        let said;
        while (opened !== this.#opened) {
            opened = this.#opened;
            said = await opened;
        }
        this.#opened = undefined;
        await transport.finishAuth(said);
    }

    get redirectUrl() {
        return this.#redirectUrl;
    }

    get clientMetadata() {
        return {
            client_name: 'lab-client-typescript',
            redirect_uris: [this.#redirectUrl],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            token_endpoint_auth_method: 'none',
        };
    }

    state() {
        return randomUUID();
    }

    clientInformation() {
        return this.#saved.client;
    }

    saveClientInformation(client) {
        this.#saved.client = client;
    }

    tokens() {
        return this.#saved.tokens;
    }

    saveTokens(tokens) {
        this.#saved.tokens = tokens;
    }

    saveCodeVerifier(verifier) {
        this.#saved.verifier = verifier;
    }

    codeVerifier() {
        return this.#saved.verifier;
    }

    saveDiscoveryState(state) {
        this.#saved.discovery = state;
    }

    discoveryState() {
        return this.#saved.discovery;
    }

    invalidateCredentials(scope) {
        const names = { all: ['client', 'tokens', 'verifier', 'discovery'] }[scope] ?? [scope];
        for (const name of names) this.#saved[name] = undefined;
    }

    redirectToAuthorization(url) {
        const state = url.searchParams.get('state');
        this.#opened = new Promise((resolve, reject) => {
            this.#waiting.set(state, resolve);
            setTimeout(() => reject(new Error('the login was not finished in time')), this.withinMs);
        });
        // A login that nobody waits for any more may fail.
        this.#opened.catch(() => {});
        spawn(process.env.BROWSER, [url.href], { stdio: 'ignore' }).on('error', () => {});
    }
}
