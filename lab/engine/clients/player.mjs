// Plays a script of the lab on a client of either TypeScript SDK, and prints a line after each step.
//
// Both adapters give this file the same few functions of their SDK; what is sent, repeated or given
// up is the SDK's own doing. A step that fails is reported, and the next one is tried.

import { readFileSync, writeSync } from 'node:fs';

/// `Client` is made from a URL, a token or a login or nothing, and a function that is told notifications. It has
/// `connect()`, `call(tool, args, options)`, `request(method, params, options)` and `close()`, where
/// options are the SDK's own `timeout` (ms) and `signal`.
export async function main(Client) {
    // What nobody awaits inside an SDK would end the process by Node's default, and with it the
    // steps to come; a program that watches over a client catches it as well.
    process.on('unhandledRejection', (error) => console.error('unhandled:', told(error)));
    const [url, path] = process.argv.slice(2);
    const script = JSON.parse(readFileSync(path, 'utf8'));
    const player = new Player(Client, url);
    for (const [step, what] of script.entries()) {
        const done = await timed(() => player.play(what));
        write({ step, ...done, notifications: player.heard.splice(0) });
    }
    process.exit(0);
}

class Player {
    heard = [];
    #Client;
    #url;
    #client;

    constructor(Client, url) {
        this.#Client = Client;
        this.#url = url;
    }

    play(step) {
        switch (step.op) {
            case 'call':
                return step.concurrency === undefined ? this.#call(step) : this.#callAtOnce(step);
            case 'close':
                return this.#close();
            case 'initialize':
                return this.#initialize(step);
            case 'request':
                return this.#request(step);
            case 'sleep':
                return new Promise((resolve) => setTimeout(resolve, step.s * 1000));
            default:
                throw new Error(`no such step: ${step.op}`);
        }
    }

    async #initialize({ bearer, login }) {
        await this.#client?.close().catch((error) => console.error('closing:', told(error)));
        const client = new this.#Client(this.#url, { bearer, login }, (it) => this.heard.push(words(it)));
        // It stays even if it cannot connect: what it then says to a call is for the SDK to decide.
        this.#client = client;
        return { json: await client.connect() };
    }

    async #call({ tool, args = {}, timeout_s, cancel_after_s }) {
        const cancelling = new AbortController();
        const timer = cancel_after_s === undefined ? undefined
            : setTimeout(() => cancelling.abort('cancelled by the caller'), cancel_after_s * 1000);
        const options = { ...timeout(timeout_s), signal: cancelling.signal };
        try {
            const result = await this.#connected().call(tool, args, options);
            const texts = result.content.filter((it) => it.type === 'text').map((it) => it.text);
            return { text: texts.join('\n'), isError: result.isError ?? false };
        } finally {
            clearTimeout(timer);
        }
    }

    async #callAtOnce(step) {
        const numbered = (n) => ({ ...step, args: { ...step.args, msg: `c${n}` } });
        const calls = Array.from({ length: step.concurrency }, (_, n) =>
            timed(() => this.#call(numbered(n))));
        const ends = await Promise.all(calls);
        const failed = ends.filter((it) => !it.ok).length;
        return failed === 0 ? ends : new Partly(ends, `${failed} of ${ends.length} failed`);
    }

    async #request({ method, params, timeout_s }) {
        return { json: await this.#connected().request(method, params, timeout(timeout_s)) };
    }

    async #close() {
        const client = this.#connected();
        this.#client = undefined;
        await client.close();
    }

    #connected() {
        if (this.#client === undefined) throw new Error('not connected: there was no `initialize`');
        return this.#client;
    }
}

/// A list of ends of which not all are good.
class Partly {
    constructor(ends, error) {
        this.ends = ends;
        this.error = error;
    }
}

const timeout = (seconds) => (seconds === undefined ? {} : { timeout: seconds * 1000 });

async function timed(doing) {
    const began = performance.now();
    let ended;
    try {
        const result = await doing();
        ended = result instanceof Partly
            ? { ok: false, result: result.ends, error: result.error }
            : { ok: true, result: result ?? null, error: null };
    } catch (error) {
        ended = { ok: false, result: null, error: told(error) };
    }
    return { ...ended, elapsed_ms: performance.now() - began };
}

/// An error as its user sees it: name, message, codes, and the same of its causes.
function told(error) {
    if (!(error instanceof Error)) return String(error);
    const facts = [];
    if (error.code !== undefined) facts.push(`code ${error.code}`);
    if (error.data?.status !== undefined) facts.push(`status ${error.data.status}`);
    const own = `${error.name}: ${error.message}${facts.length ? ` (${facts.join(', ')})` : ''}`;
    return error.cause === undefined ? own : `${own}; cause: ${told(error.cause)}`;
}

function words({ method, params }) {
    const name = method.replace(/^notifications\//, '');
    const data = params?.data;
    if (name !== 'message') return name;
    return `message:${typeof data === 'string' ? data : JSON.stringify(data)}`;
}

/// At once and whole, whatever stdout is: somebody waits for the line.
function write(line) {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let at = 0; at < bytes.length;) {
        try {
            at += writeSync(1, bytes, at);
        } catch (error) {
            if (error.code !== 'EAGAIN') throw error;
        }
    }
}
