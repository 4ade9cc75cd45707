// What every driver on TypeScript does; the orders and the answers are those of python/driver.py.

import { createInterface } from 'node:readline';

// The frameworks' own limits would end calls that the client still waits for.
export const CALL_MS = 30_000;

// What the model does: it calls the tools of its order, and says that it is done.
class Script {
    shown = [];
    #begun = 0;

    constructor({ key, steps }) {
        this.arguments = { key };
        this.steps = steps;
    }

    // Takes what the model was shown for its last call; returns the tool that it calls next.
    next(shown) {
        if (this.#begun > 0) this.shown.push(shown ?? null);
        this.callId = `call-${this.#begun + 1}`;
        return this.steps[this.#begun++];
    }
}

export const words = error => `${error?.name ?? 'Error'}: ${error?.message ?? error}`;

// For a client without a model: what a call throws is what its program has to show.
export async function playCalls(script, call) {
    let shown;
    for (let tool; (tool = script.next(shown)) !== undefined; ) {
        try {
            shown = await call(tool, script.arguments);
        } catch (error) {
            shown = `raised ${words(error)}`;
        }
    }
}

export const textOf = result => result.content.map(({ text }) => text).join(' ');

async function played(play, order) {
    const script = new Script(order);
    let timer;
    const hung = new Promise((_, reject) => {
        timer = setTimeout(() => reject('HUNG'), order.seconds * 1000);
    });
    try {
        await Promise.race([play(order, script), hung]);
        return { shown: script.shown, raised: null };
    } catch (error) {
        if (error !== 'HUNG') console.error(error);
        return { shown: script.shown, raised: error === 'HUNG' ? error : words(error) };
    } finally {
        clearTimeout(timer);
    }
}

export async function drive(play) {
    const answer = process.stdout.write.bind(process.stdout);
    // Frameworks print: only answers reach the real stdout.
    process.stdout.write = process.stderr.write.bind(process.stderr);
    // An error that belongs to no call is the framework's own trouble; the call still has to end.
    process.on('unhandledRejection', error => console.error('unhandled:', error));
    process.on('uncaughtException', error => console.error('uncaught:', error));
    for await (const line of createInterface({ input: process.stdin })) {
        answer(JSON.stringify(await played(play, JSON.parse(line))) + '\n');
    }
    process.exit(0);
}
