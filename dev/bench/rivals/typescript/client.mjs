// The official TypeScript SDK as a contestant of the bench: client.mjs URL. Everything is as it comes.
// Version 1 (`@modelcontextprotocol/sdk`) and version 2 (`@modelcontextprotocol/client`) differ in where
// things are; whichever is installed beside this file is taken.

import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

const TEXT = '0123456789'.repeat(10);

async function sdk() {
    const pins = createRequire(import.meta.url)('./package.json').dependencies;
    const [[name, version]] = Object.entries(pins);
    if (name === '@modelcontextprotocol/client') {
        return { version, name: 'typescript', ...(await import(name)) };
    }
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const transport = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return { version, name: 'typescript-v1', Client, ...transport };
}

function say(line) {
    process.stdout.write(`${JSON.stringify(line)}\n`);
}

function check(result, wanted) {
    if (result.content[0].text !== wanted) {
        throw new Error('the wrong text came back');
    }
}

async function calls(call, count, atOnce) {
    const times = [];
    const several = async (share) => {
        for (let made = 0; made < share; made++) {
            const began = performance.now();
            await call();
            times.push((performance.now() - began) * 1e3);
        }
    };
    const tasks = Math.max(1, Math.min(atOnce, count));
    const before = process.cpuUsage();
    const shares = Array.from({ length: tasks }, (_, place) => Math.floor(count / tasks) + (place < count % tasks ? 1 : 0));
    await Promise.all(shares.map(several));
    const spent = process.cpuUsage(before);
    times.sort((a, b) => a - b);
    const at = (part) => times[Math.floor((times.length * part) / 100)];
    return { calls: count, p50_us: at(50), p99_us: at(99), cpu_us: (spent.user + spent.system) / count };
}

async function main(url) {
    const { Client, StreamableHTTPClientTransport, name, version } = await sdk();
    const client = new Client({ name: 'bench', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const echo = async () => check(await client.callTool({ name: 'echo', arguments: { text: TEXT } }), TEXT);
    const big = async () => check(await client.callTool({ name: 'big', arguments: {} }), 'done');
    say({ ready: true, name, version });
    for await (const line of createInterface({ input: process.stdin })) {
        const [word, count, atOnce] = line.split(' ');
        if (word === 'quit') {
            break;
        } else if (word === 'calls') {
            say(await calls(echo, Number(count), Number(atOnce)));
        } else if (word === 'big') {
            say(await calls(big, Number(count), 1));
        } else {
            throw new Error(`${line} is no command`);
        }
    }
}

try {
    await main(process.argv[2]);
    process.exit(0);
} catch (error) {
    say({ error: String(error) });
    process.exit(1);
}
