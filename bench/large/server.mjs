// An MCP server with a tool whose result is as large as the call says, over stdio, or over HTTP on the port of its
// argument: JSON at /json, event streams at /sse. Results are made once, so that the time measured is the gateway's.
import { createServer } from 'node:http';

const tools = ['echo', 'large'].map((name) => ({ name, inputSchema: { type: 'object' } }));

const record = JSON.stringify({
  id: 4711,
  name: 'a "quoted" name',
  tags: ['a', 'b'],
  note: 'é and a line\nbreak',
});

/** The text of a result: one long run of letters, or JSON within JSON, which is full of escaped quotes. */
const texts = {
  plain: (bytes) => 'abcdefghijklmnop'.repeat(bytes / 16),
  records: (bytes) => record.repeat(bytes / JSON.stringify(record).length),
};

const made = new Map();

/** The response in three parts; the id goes between them. */
function large({ megabytes, text, idLast }) {
  const key = `${megabytes} ${text} ${idLast}`;
  if (!made.has(key)) {
    const content = JSON.stringify({ content: [{ type: 'text', text: texts[text](megabytes * 1_000_000) }] });
    made.set(
      key,
      idLast
        ? [Buffer.from(`{"result":${content},"jsonrpc":"2.0","id":`), Buffer.from('}')]
        : [Buffer.from('{"jsonrpc":"2.0","id":'), Buffer.from(`,"result":${content}}`)],
    );
  }
  const [before, after] = made.get(key);
  return (id) => [before, Buffer.from(JSON.stringify(id)), after];
}

const methods = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bench-large', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'small' }] }),
};

/** The parts of the answer to a message; undefined where there is none to give. */
function answer(message) {
  const { id, method, params } = JSON.parse(message);
  if (id === undefined || method === undefined) return undefined;
  if (method === 'tools/call' && params.name === 'large') return large(params.arguments)(id);
  const made = methods[method];
  const rest = made
    ? { result: made(params ?? {}) }
    : { error: { code: -32601, message: 'Method not found' } };
  return [Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))];
}

if (process.argv[2] === undefined) {
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const parts = answer(line);
      for (const part of parts ?? []) process.stdout.write(part);
      if (parts !== undefined) process.stdout.write('\n');
    }
  });
  process.stdin.on('end', () => process.exit(0));
} else {
  let sessions = 0;
  createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 200 : 405, { 'content-length': 0 }).end();
      return;
    }
    const received = [];
    request.on('data', (part) => received.push(part));
    request.on('end', () => {
      const text = Buffer.concat(received).toString();
      const parts = answer(text);
      const session = text.includes('"initialize"') ? { 'mcp-session-id': `session-${++sessions}` } : {};
      if (parts === undefined) {
        response.writeHead(202, { 'content-length': 0 }).end();
        return;
      }
      const events = request.url.startsWith('/sse');
      const body = events ? [Buffer.from('event: message\ndata: '), ...parts, Buffer.from('\n\n')] : parts;
      response.writeHead(200, {
        'content-type': events ? 'text/event-stream' : 'application/json',
        ...(!events && { 'content-length': body.reduce((sum, { length }) => sum + length, 0) }),
        ...session,
      });
      for (const part of body) response.write(part);
      response.end();
    });
  }).listen(Number(process.argv[2]), '127.0.0.1');
}
