/**
 * An MCP server on stdin and stdout that writes its messages as texts, with everything that JSON and MCP allow and
 * libraries never write. Many of its answers tell the very text that it got, so that changes on the way to the server
 * show, too.
 */

/** A request as it was written, without the id, which is the business of whoever sends it. */
interface Request {
  readonly id: string;
  readonly method: string;
  readonly name: string;
  readonly text: string;
}

const odd = String.raw`"odd":[1.0,1E3,-0,12345678901234567890,"\u00e9\/\ud83c\udf0d",{"":null,"__proto__":{"a":1}},[[[]]],{}]`;
const extra = `"unknown":{ ${odd} }`;
const uris = [
  'file:///a b',
  'odd+scheme://x+y/?q=1#f',
  'UPPER://Case/%7Euser/../x',
  'ui://page/one',
  'one+file:///a',
  'urn:isbn:0451450523',
  'data:,Grüße 世界',
];

const list = (member: string, items: readonly string[], more = ''): string =>
  `{"${member}":[ ${items.join(' ,\t')} ],"_meta":{${odd}}${more}}`;
const tool = (name: string, rest = ''): string =>
  `{"title":"T","name":${JSON.stringify(name)},"inputSchema":{"type":"object","default":1.0,${extra}}${rest}}`;
const ui =
  '"_meta":{"ui":{"resourceUri":"ui://page/one","visibility":["model"]},"ui/resourceUri":"ui://page/one","openai/outputTemplate":"ui://page/one"}';
const tools = [
  tool(
    'echo',
    `,"annotations":{"readOnlyHint":true,${extra}},"icons":[{"src":"data:,x","sizes":["any"]}],${extra}`,
  ),
  tool('one_two'),
  tool('a.b/c-d'),
  tool('content', `,${ui},"outputSchema":{"type":"object","properties":{"uri":{"const":"file:///a"}}}`),
  tool('ask'),
  tool('notify'),
  tool('fail', ',"execution":{"taskSupport":"optional"}'),
];

const content = [
  ...uris.map((uri) => `{"type":"resource_link","uri":${JSON.stringify(uri)},"name":"n",${extra}}`),
  ...uris.map(
    (uri) => `{"resource":{"text":"file:///a","uri":${JSON.stringify(uri)},${extra}},"type":"resource"}`,
  ),
  `{"type":"unheard of","uri":1.0,${extra}}`,
  `{"type":"text","text":"${String.raw`\u0000\u001f\u2028 file:///a`}","annotations":{"priority":1.0}}`,
].join(',');

const textOf = (value: string): string => `{"content":[{"type":"text","text":${JSON.stringify(value)}}]}`;

let asked = 0;
const waiting = new Map<string, (text: string) => void>();
const write = (text: string): void => void process.stdout.write(`${text}\n`);

/** Asks the client, and gives the text of its answer without the id. */
async function ask(method: string, params: string): Promise<string> {
  const id = `"ask ${++asked}"`;
  write(`{ "params":${params} , "method":"${method}","id" : ${id},"jsonrpc":"2.0" }`);
  const answer = await new Promise<string>((resolve) => waiting.set(id, resolve));
  return answer.replace(id, '"id"');
}

const results: Readonly<Record<string, (request: Request) => string | undefined | Promise<string>>> = {
  initialize: ({ text }) =>
    `{"protocolVersion":"${/"protocolVersion":"([\d-]+)"/.exec(text)?.[1] ?? ''}","serverInfo":{"name":"literal","version":"1",${extra}},` +
    `"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{},` +
    `"experimental":{"example.com/own":{${odd}}}},"instructions":"Gr\\u00fc\\u00dfe",${extra}}`,
  ping: () => '{}',
  'tools/list': ({ text }) =>
    text.includes('"cursor"')
      ? list('tools', tools.slice(3))
      : list('tools', tools.slice(0, 3), `,"nextCursor":"1.0",${extra}`),
  'prompts/list': () => list('prompts', [`{"name":"one_p","arguments":[{"name":"a",${extra}}],${extra}}`]),
  'resources/list': () =>
    list(
      'resources',
      uris.map((uri) => `{ "name":"n" ,"uri":${JSON.stringify(uri)},"size":1.0,${ui},${extra} }`),
    ),
  'resources/templates/list': () =>
    list('resourceTemplates', [
      `{"name":"t","uriTemplate":"file:///{+path}{?q*}",${extra}}`,
      `{"name":"u","uriTemplate":"ui://{page}",${extra}}`,
    ]),
  'prompts/get': ({ text }) =>
    `{"messages":[{"role":"user","content":{"type":"text","text":${JSON.stringify(text)}}},` +
    `{"role":"assistant","content":{"type":"resource","resource":{"uri":"file:///a b","text":"t"},${extra}}}],${extra}}`,
  'resources/read': ({ text, name }) =>
    `{"contents":[{"uri":${name},"text":${JSON.stringify(text)},${extra}},{"uri":"file:///other","blob":"AAAA"}],${extra}}`,
  'resources/subscribe': () => '{}',
  'resources/unsubscribe': () => `{${extra}}`,
  'logging/setLevel': ({ text }) => (text.includes('"loud"') ? undefined : '{}'),
  'completion/complete': ({ text }) =>
    `{"completion":{"values":[${JSON.stringify(text)}],"total":1.0,"hasMore":false},${extra}}`,
  'tools/call': async (request) => await (toolResults[request.name] ?? toolResults['"echo"']!)(request),
};

const toolResults: Readonly<Record<string, (request: Request) => string | Promise<string>>> = {
  '"echo"': ({ text }) => textOf(text),
  '"content"': () =>
    `{"structuredContent":{"uri":"file:///a",${odd}},"content":[${content}],"isError":false,${extra}}`,
  '"ask"': async () => {
    const link = '{"type":"resource_link","uri":"file:///a b","name":"n"}';
    const answers = [
      await ask(
        'sampling/createMessage',
        `{"maxTokens":1.0,"messages":[{"role":"user","content":${link}}],${extra}}`,
      ),
      await ask(
        'elicitation/create',
        `{"message":"m","requestedSchema":{"type":"object","properties":{},${odd}},${extra}}`,
      ),
      await ask('roots/list', `{"_meta":{${odd}}}`),
      await ask('ping', '{}'),
      await ask('example.com/own', `{${odd}}`),
    ];
    return textOf(answers.join('\n'));
  },
  '"notify"': () => {
    for (const [method, params] of [
      ['notifications/message', `{"level":"info","data":{${odd}},"logger":"l",${extra}}`],
      ['notifications/resources/updated', `{"uri":"file:///a b",${extra}}`],
      ['notifications/tools/list_changed', `{"_meta":{${odd}}}`],
      ['notifications/example.com/own', `{${odd}}`],
    ])
      write(`{"method":"${method}", "jsonrpc":"2.0" ,"params":${params}}`);
    return textOf('notified');
  },
};

async function receive(line: string): Promise<void> {
  const message = JSON.parse(line) as {
    id?: string | number;
    method?: string;
    params?: { name?: string; uri?: string };
  };
  const id = JSON.stringify(message.id);
  if (message.method === undefined) return waiting.get(id)?.(line);
  if (message.id === undefined) return;
  const { method, params } = message;
  const name = JSON.stringify(params?.name ?? params?.uri);
  const text = line.replace(`"id":${id}`, '"id":"id"');
  const result = name === '"fail"' ? undefined : await results[method]?.({ id, method, name, text });
  write(
    result === undefined
      ? `{"error":{"message":"no ${method}","code":-32601,"data":{${odd}}} ,"id":${id},"jsonrpc":"2.0"}`
      : `{ "result" : ${result} ,"jsonrpc":"2.0","id":${id} }`,
  );
}

let rest = '';
process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) void receive(line);
});
