// oidc-provider as it is published, and behind it an MCP server that lets in whoever has one of its tokens.
import http from 'node:http';
import { once } from 'node:events';
import Provider from 'oidc-provider';

const port = Number(process.env.PORT ?? 0);
const origin = `http://127.0.0.1:${port}`;
const resource = `${origin}/mcp`;
const scopes = ['openid', 'offline_access', 'mcp:read'];
const on = { enabled: true };
// The client whose id is a URL: it is handed over here, because there is no TLS on this machine.
const document = {
  client_id: 'https://client.example/ridethrough.json',
  client_name: 'ridethrough interop',
  redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};
const provider = new Provider(origin, {
  scopes,
  rotateRefreshToken: true,
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  fetch: (url, options) => String(url.url ?? url) === document.client_id ? Response.json(document) : fetch(url, options),
  clients: [{
    client_id: 'by-hand',
    client_secret: 'secret-of-by-hand',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  }],
  features: {
    devInteractions: on,
    registration: on,
    deviceFlow: on,
    revocation: on,
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      defaultResource: () => resource,
      getResourceServerInfo: (_, audience) => ({ scope: 'mcp:read', audience, accessTokenFormat: 'opaque', accessTokenTTL: 3600 }),
    },
  },
});

const seen = new Set();
const ended = new Set();

async function isGood(token) {
  const found = token && !ended.has(token) && await provider.AccessToken.find(token);
  if (token) seen.add(token);
  return Boolean(found && found.isValid && found.aud === resource);
}

function say(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}

async function mcp(request, response) {
  const token = request.headers.authorization?.replace('Bearer ', '');
  if (!await isGood(token)) {
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    const error = token ? 'error="invalid_token", ' : '';
    return say(response, 401, {}, { 'www-authenticate': `Bearer ${error}${metadata}` });
  }
  if (request.method !== 'POST') return say(response, 405, {});
  request.setEncoding('utf8');
  let text = '';
  request.on('data', (chunk) => { text += chunk; });
  await once(request, 'end');
  const { id, method } = JSON.parse(text);
  if (id === undefined) return say(response, 202);
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } },
    'tools/call': { content: [{ type: 'text', text: 'let in' }] },
  };
  say(response, 200, { jsonrpc: '2.0', id, result: results[method] ?? {} });
}

const authorize = provider.callback();
const server = http.createServer((request, response) => {
  const path = request.url.split('?')[0];
  if (path === '/mcp') return mcp(request, response);
  if (path === '/.well-known/oauth-protected-resource/mcp') {
    return say(response, 200, { resource, authorization_servers: [origin], scopes_supported: ['mcp:read'] });
  }
  // Here a client may come from any port.
  if (path === '/interop/register') return say(response, 200, {});
  if (path === '/interop/end') {
    seen.forEach((token) => ended.add(token));
    return say(response, 200, {});
  }
  return authorize(request, response);
});
server.listen(port, '127.0.0.1', () => console.log(`listening on ${resource}`));
