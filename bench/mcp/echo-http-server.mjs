// The lightest MCP server over Streamable HTTP: one process, JSON answers, 30 tools at every path. Paths under /modern
// speak revision 2026-07-28, all others an older one.
import { createServer } from 'node:http';

const tools = Array.from({ length: 30 }, (_, index) => ({
  name: index === 0 ? 'echo' : `tool${index}`,
  description: 'Returns its message',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
}));

const serverInfo = { name: 'bench-echo', version: '1.0.0' };
const capabilities = { tools: { listChanged: true } };
const content = (params) => [{ type: 'text', text: `Echo: ${params.arguments.message}` }];
const cache = { ttlMs: 60_000, cacheScope: 'public' };

const legacy = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities, serverInfo }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': (params) => ({ content: content(params) }),
};

const modern = {
  'server/discover': () => ({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities,
    serverInfo,
    ...cache,
  }),
  'tools/list': () => ({ resultType: 'complete', tools, ...cache }),
  'tools/call': (params) => ({ resultType: 'complete', content: content(params) }),
};

let sessions = 0;

const server = createServer((request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(request.method === 'DELETE' ? 200 : 405, { 'content-length': 0 }).end();
    return;
  }
  const isModern = request.url.startsWith('/modern');
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const { id, method, params } = JSON.parse(Buffer.concat(parts).toString());
    if (id === undefined || method === undefined) {
      response.writeHead(202, { 'content-length': 0 }).end();
      return;
    }
    if (isModern && method === 'subscriptions/listen') {
      listen(response, id);
      return;
    }
    const answer = (isModern ? modern : legacy)[method];
    const body = JSON.stringify(
      answer
        ? { jsonrpc: '2.0', id, result: answer(params ?? {}) }
        : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } },
    );
    response.writeHead(answer || !isModern ? 200 : 404, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(method === 'initialize' && { 'mcp-session-id': `session-${++sessions}` }),
    });
    response.end(body);
  });
});

/** A stream of news that has none. */
function listen(response, id) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const params = {
    _meta: { 'io.modelcontextprotocol/subscriptionId': id },
    notifications: { toolsListChanged: true },
  };
  const acknowledged = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params };
  response.write(`data: ${JSON.stringify(acknowledged)}\n\n`);
}

server.keepAliveTimeout = 120_000;
server.listen(Number(process.argv[2]), '127.0.0.1');
