// The lightest MCP server there is: newline-delimited JSON-RPC by hand, one tool, so that what is measured is what
// stands in front of it. Plain JavaScript: type stripping would cost every child at its start.
const tool = {
  name: 'echo',
  description: 'Returns its message',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
};

const methods = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bench-echo', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: `Echo: ${params.arguments.message}` }] }),
};

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  let out = '';
  for (const line of lines) {
    if (line === '') continue;
    const { id, method, params } = JSON.parse(line);
    if (id === undefined || method === undefined) continue;
    const answer = methods[method];
    out +=
      JSON.stringify(
        answer
          ? { jsonrpc: '2.0', id, result: answer(params ?? {}) }
          : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } },
      ) + '\n';
  }
  if (out !== '') process.stdout.write(out);
});
process.stdin.on('end', () => process.exit(0));
