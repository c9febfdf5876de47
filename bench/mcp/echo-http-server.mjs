// The lightest MCP server over Streamable HTTP: one process, JSON answers, 30 tools at every path. It prints its port.
import { createServer } from 'node:http';

const tools = Array.from({ length: 30 }, (_, index) => ({
  name: index === 0 ? 'echo' : `tool${index}`,
  description: 'Returns its message',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
}));

const methods = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'bench-echo', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: `Echo: ${params.arguments.message}` }] }),
};

let sessions = 0;

const server = createServer((request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(request.method === 'DELETE' ? 200 : 405, { 'content-length': 0 }).end();
    return;
  }
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const { id, method, params } = JSON.parse(Buffer.concat(parts).toString());
    if (id === undefined || method === undefined) {
      response.writeHead(202, { 'content-length': 0 }).end();
      return;
    }
    const answer = methods[method];
    const body = JSON.stringify(
      answer
        ? { jsonrpc: '2.0', id, result: answer(params ?? {}) }
        : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } },
    );
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(method === 'initialize' && { 'mcp-session-id': `session-${++sessions}` }),
    });
    response.end(body);
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(process.argv[2]), '127.0.0.1');
