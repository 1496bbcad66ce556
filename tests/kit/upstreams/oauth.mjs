// oauth.mjs LOG [ACCESS_SECONDS]: an authorisation server (the npm package oidc-provider) and an MCP server over Streamable HTTP
// that takes its tokens alone, both on loopback. Prints {"listening": URL, "issuer": URL}; ends when standard input closes.
// Each line of LOG is a call or a refused request at the MCP server, or a token request with what was issued. POST /control of the MCP server:
// {"revoke": true} makes every refresh token worthless, {"deny": N} refuses the next N requests with 401.
import { createServer } from 'node:http';
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [log, seconds = '3600'] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${process.env.KIT}/oidc/`));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));
const note = (line) => appendFileSync(log, `${JSON.stringify(line)}\n`);
const listen = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));

const gate = createServer((request, response) => callback(request, response));
const issuer = `http://127.0.0.1:${await listen(gate)}`;
let worthless = false;
const provider = new Provider(issuer, {
  clients: [{ client_id: 'known', client_secret: 'known-secret-of-the-client', redirect_uris: ['http://127.0.0.1/callback'],
    application_type: 'native', grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'client_secret_basic' }],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ scope: 'notes', audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: Number(seconds) }),
      useGrantedResource: () => true,
    },
  },
  scopes: ['openid', 'offline_access', 'notes'],
  pkce: { required: () => true },
  rotateRefreshToken: () => true,
  issueRefreshToken: async () => true,
  findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
});
provider.use(async (context, next) => {
  await next();
  if (context.path === '/token' && context.method === 'POST') {
    const issued = ['access_token', 'refresh_token', 'id_token'].map((name) => context.body?.[name]).filter(Boolean);
    note({ kind: 'token', grant: context.oidc?.params?.grant_type, status: context.status, issued });
  }
});
const callback = provider.callback();
provider.on('server_error', (_, error) => console.error(error));

let deny = 0;
let resource;
const read = async (request) => {
  let text = '';
  for await (const piece of request) text += piece;
  return text === '' ? {} : JSON.parse(text);
};
const server = createServer(async (request, response) => {
  const send = (status, body, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body === undefined ? '' : JSON.stringify(body));
  };
  if (request.url.startsWith('/.well-known/oauth-protected-resource')) {
    return send(200, { resource, authorization_servers: [issuer], scopes_supported: ['notes'] });
  }
  const message = request.method === 'POST' ? await read(request) : {};
  if (request.url === '/control') {
    if (message.revoke) worthless = true;
    deny = message.deny ?? deny;
    return send(200, {});
  }
  const shown = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const token = shown && !worthless ? await provider.AccessToken.find(shown) : undefined;
  const good = token && token.isValid && token.aud === resource;
  if (!good || deny > 0) {
    deny = Math.max(0, deny - 1);
    note({ kind: 'refused', method: message.method, shown: shown !== '' });
    const where = new URL('/.well-known/oauth-protected-resource/mcp', resource);
    return send(401, { error: 'invalid_token' }, { 'www-authenticate': `Bearer resource_metadata="${where}", scope="notes"` });
  }
  if (request.method !== 'POST') return send(405);
  if (message.id === undefined) return send(202);
  const answer = (result) => send(200, { jsonrpc: '2.0', id: message.id, result });
  switch (message.method) {
    case 'initialize':
      return answer({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } });
    case 'tools/list':
      return answer({ tools: [{ name: 'note', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }] });
    case 'tools/call':
      note({ kind: 'call', text: message.params.arguments.text });
      // A careless server: its answers and errors tell the token that it was shown.
      if (message.params.arguments.text === 'tell') return answer({ content: [{ type: 'text', text: `noted by ${shown}` }] });
      if (message.params.arguments.text === 'fail') return send(200, { jsonrpc: '2.0', id: message.id, error: { code: -32000, message: `no room for ${shown}` } });
      return answer({ content: [{ type: 'text', text: 'noted' }] });
    default:
      return send(200, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } });
  }
});
resource = `http://127.0.0.1:${await listen(server)}/mcp`;
console.log(JSON.stringify({ listening: resource, issuer }));
process.stdin.on('end', () => process.exit(0)).resume();
